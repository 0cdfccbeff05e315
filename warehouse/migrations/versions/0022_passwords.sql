-- Guesses counted by network, an address that an ended account had used again, and links that set a password once.
-- Policies and grants are in 0022_passwords.py. Instants are the service's clock's, never the database's.

ALTER TABLE users DROP CONSTRAINT uq_users_email;
CREATE UNIQUE INDEX uq_users_email ON users (email) WHERE disabled_at IS NULL;
COMMENT ON COLUMN users.email IS 'in small letters; of one live account in all companies';

CREATE TABLE password_links (
    token_hash BYTEA NOT NULL,
    company_id UUID NOT NULL,
    user_id UUID NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_password_links PRIMARY KEY (token_hash),
    CONSTRAINT fk_password_links_user_id FOREIGN KEY(user_id) REFERENCES users (id),
    CONSTRAINT uq_password_links_user_id UNIQUE (user_id)
);
COMMENT ON COLUMN password_links.token_hash IS 'SHA-256 of the link''s token';
COMMENT ON COLUMN password_links.user_id IS 'of whom one link counts at a time';

-- A person who signs in: what the password is to be compared with, no user where there is none to sign in, 0 or the
-- seconds to wait, and whether the answer is to take longer. A network has a ceiling, and one for each account; neither
-- is counted where one of them must wait. An account that is guessed at from everywhere answers more slowly and stays
-- open: its owner is elsewhere, and would be locked out with the guessers. The caller undoes the count when the password
-- was right.
CREATE FUNCTION pcds_sign_in(wanted text, account text, network text, per_account integer, per_network integer,
                             slow_above integer, at timestamptz)
RETURNS TABLE (user_id uuid, company_id uuid, password_hash text, retry_after integer, is_slow boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    SELECT users.id, users.company_id, users.password_hash INTO user_id, company_id, password_hash
    FROM users WHERE users.email = wanted AND users.disabled_at IS NULL;
    is_slow := false;
    BEGIN
        retry_after := pcds_take('sign-in-network:' || network, per_network, at);
        IF retry_after = 0 THEN
            retry_after := pcds_take('sign-in-account:' || account || ':' || network, per_account, at);
        END IF;
        IF retry_after > 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'PC429';
        END IF;
        is_slow := pcds_take('sign-in-everywhere:' || account, slow_above, at) > 0;
    EXCEPTION WHEN SQLSTATE 'PC429' THEN
        NULL; -- the place that one of them took is free again
    END;
    RETURN NEXT;
END $$;
DROP FUNCTION pcds_sign_in(text, text, text, integer, integer, timestamptz);

-- Whose password a link may set; no row for a link that is unknown, used or over, or whose person has ended.
CREATE FUNCTION pcds_password_link(presented bytea, at timestamptz)
RETURNS TABLE (user_id uuid, company_id uuid, email text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT users.id, users.company_id, users.email
    FROM password_links AS link JOIN users ON users.id = link.user_id AND users.disabled_at IS NULL
    WHERE link.token_hash = presented AND link.expires_at > at
$$;

-- Set the password of a person of the session's company; the person's links and sessions end with the old one.
CREATE FUNCTION pcds_set_password(person uuid, password_hash text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    UPDATE users SET password_hash = pcds_set_password.password_hash
    WHERE users.id = person AND users.disabled_at IS NULL
        AND users.company_id = nullif(current_setting('app.company_id', true), '')::uuid;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM password_links WHERE password_links.user_id = person;
    DELETE FROM user_sessions WHERE user_sessions.user_id = person;
    RETURN true;
END $$;
