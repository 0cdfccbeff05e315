CREATE TABLE catalogue_loads (
    id uuid NOT NULL,
    loaded_at timestamptz NOT NULL,
    source_hash text NOT NULL,
    rows integer NOT NULL,
    changes json NOT NULL,
    pinned boolean NOT NULL,
    CONSTRAINT pk_catalogue_loads PRIMARY KEY (id)
);
COMMENT ON COLUMN catalogue_loads.changes IS 'added, changed, removed codes';
COMMENT ON COLUMN catalogue_loads.pinned IS 'false where an operator loaded a file';
GRANT SELECT,INSERT ON catalogue_loads TO pcds_app;

CREATE TABLE jurisdictions (
    code text NOT NULL,
    name text NOT NULL,
    parent_code text,
    system text,
    register_name text,
    register_url text,
    law_title text,
    law_reference text,
    law_date date,
    law_date_seen text,
    scope text,
    reporting_period text,
    authorised_representative_required text,
    local_labelling_rule text,
    depth integer NOT NULL,
    verified_on date,
    source_url text,
    source_note text,
    region text NOT NULL,
    system_key text NOT NULL,
    in_catalogue boolean NOT NULL,
    reviewed_on date,
    composite_rule text,
    composite_threshold_percent integer,
    composite_basis text,
    composite_note text,
    CONSTRAINT pk_jurisdictions PRIMARY KEY (code)
);
COMMENT ON COLUMN jurisdictions.depth IS 'as recorded; what is served is derived on read';
COMMENT ON COLUMN jurisdictions.in_catalogue IS 'served';
COMMENT ON COLUMN jurisdictions.reviewed_on IS 'of the lawyer''s review behind depth 3';
GRANT SELECT,INSERT,DELETE,UPDATE ON jurisdictions TO pcds_app;
