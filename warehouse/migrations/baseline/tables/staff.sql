CREATE TABLE staff (
    id uuid NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL,
    disabled_at timestamptz,
    CONSTRAINT ck_staff_role CHECK ((role = ANY (ARRAY['analyst'::text, 'operator'::text]))),
    CONSTRAINT pk_staff PRIMARY KEY (id)
);
CREATE UNIQUE INDEX uq_staff_email ON staff (email) WHERE (disabled_at IS NULL);
COMMENT ON COLUMN staff.email IS 'in small letters; of one live account, so that who left can come back';
COMMENT ON COLUMN staff.role IS 'analyst: looks at Dagster; operator: acts in it, too';
COMMENT ON COLUMN staff.password_hash IS 'Argon2id with its parameters';

CREATE TABLE staff_sessions (
    token_hash bytea NOT NULL,
    staff_id uuid NOT NULL,
    seen_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_staff_sessions PRIMARY KEY (token_hash),
    CONSTRAINT fk_staff_sessions_staff_id FOREIGN KEY (staff_id) REFERENCES staff(id)
);
CREATE INDEX ix_staff_sessions_expires_at ON staff_sessions (expires_at);
CREATE INDEX ix_staff_sessions_staff_id ON staff_sessions (staff_id);
COMMENT ON COLUMN staff_sessions.token_hash IS 'SHA-256 of the cookie''s token';
COMMENT ON COLUMN staff_sessions.seen_at IS 'of its last request, to the minute';
