CREATE TABLE archived_skus (
    company_id UUID NOT NULL,
    sku_id UUID NOT NULL,
    version INTEGER NOT NULL,
    sku_code TEXT NOT NULL,
    archived_at TIMESTAMP WITH TIME ZONE NOT NULL,
    returned_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_archived_skus PRIMARY KEY (sku_id, version)
);
COMMENT ON COLUMN archived_skus.version IS 'the version that archiving made, in sku_versions';
COMMENT ON COLUMN archived_skus.returned_at IS 'when the SKU came back; null while it is archived';
CREATE UNIQUE INDEX ix_archived_skus_now ON archived_skus (company_id, sku_code) WHERE returned_at IS NULL;
ALTER TABLE archived_skus ENABLE ROW LEVEL SECURITY;
ALTER TABLE archived_skus FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON archived_skus
    USING (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid))
    WITH CHECK (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid));
GRANT SELECT, INSERT ON archived_skus TO pcds_app;
GRANT UPDATE (returned_at) ON archived_skus TO pcds_app;

-- The application removes a row from skus only in the statement that archives it, which also keeps its versions.
CREATE FUNCTION pcds_only_archived() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE')
        AND NOT EXISTS (SELECT FROM archived_skus WHERE sku_id = OLD.id AND version = OLD.version + 1) THEN
        RAISE EXCEPTION USING MESSAGE = 'SKU ' || OLD.id || ' leaves skus without being archived';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER only_archived AFTER DELETE ON skus FOR EACH ROW EXECUTE FUNCTION pcds_only_archived();
GRANT DELETE ON skus TO pcds_app;

ALTER TABLE imports ADD COLUMN undone_at TIMESTAMP WITH TIME ZONE;
COMMENT ON COLUMN imports.undone_at IS 'when its writes were last taken back';
