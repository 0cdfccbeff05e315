CREATE SEQUENCE launch_workers AS integer CYCLE;
GRANT USAGE ON SEQUENCE launch_workers TO pcds_app;

CREATE TABLE launches (
    run_id text NOT NULL,
    company text,
    resume boolean NOT NULL,
    asked_at timestamptz DEFAULT clock_timestamp() NOT NULL,
    worker integer,
    taken_at timestamptz,
    ended_at timestamptz,
    CONSTRAINT pk_launches PRIMARY KEY (run_id)
);
CREATE INDEX ix_launches_waiting ON launches (asked_at) WHERE (worker IS NULL);
COMMENT ON COLUMN launches.run_id IS 'of Dagster, whose storage knows the rest of the run';
COMMENT ON COLUMN launches.company IS 'whose run it is, or null; companies take turns';
COMMENT ON COLUMN launches.resume IS 'the run has begun before and lost its worker';
COMMENT ON COLUMN launches.worker IS 'number of the worker that took it; its advisory lock says whether it lives';
GRANT SELECT,INSERT,DELETE,UPDATE ON launches TO pcds_app;
