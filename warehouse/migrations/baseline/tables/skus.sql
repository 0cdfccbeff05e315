CREATE TABLE archived_skus (
    company_id uuid NOT NULL,
    sku_id uuid NOT NULL,
    version integer NOT NULL,
    sku_code text NOT NULL,
    archived_at timestamptz NOT NULL,
    returned_at timestamptz,
    CONSTRAINT pk_archived_skus PRIMARY KEY (sku_id, version)
);
CREATE UNIQUE INDEX ix_archived_skus_now ON archived_skus (company_id, sku_code) WHERE (returned_at IS NULL);
COMMENT ON COLUMN archived_skus.version IS 'the version as which it rests, in sku_versions: that of archiving, or of units written since';
COMMENT ON COLUMN archived_skus.returned_at IS 'when the SKU came back; null while it is archived';
GRANT SELECT,INSERT ON archived_skus TO pcds_app;
GRANT UPDATE (version, returned_at) ON archived_skus TO pcds_app;

CREATE TABLE docs (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    sku_id uuid,
    reference text,
    supplier_name text,
    status text NOT NULL,
    issued_on date,
    expires_on date,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    expiry_entered date,
    renews uuid,
    withdrawn_at timestamptz,
    withdrawn_reason text,
    CONSTRAINT pk_docs PRIMARY KEY (id)
);
CREATE INDEX ix_docs_company_id_sku_id ON docs (company_id, sku_id);
CREATE INDEX ix_docs_newest ON docs (company_id, created_at DESC, id);
CREATE INDEX ix_docs_renews ON docs (company_id, renews) WHERE (renews IS NOT NULL);
COMMENT ON COLUMN docs.expiry_entered IS 'the last day whose passing stands in the ledger';
COMMENT ON COLUMN docs.renews IS 'the earlier declaration in whose place it was issued';
COMMENT ON COLUMN docs.withdrawn_reason IS 'why a person withdrew it; its status is rejected since';
GRANT SELECT,INSERT,DELETE,UPDATE ON docs TO pcds_app;

CREATE TABLE sku_versions (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    sku_code text NOT NULL,
    name text NOT NULL,
    description text,
    material text,
    material_subtype text,
    weight_grams double precision,
    recycled_content_percent double precision,
    food_contact boolean,
    pfas json,
    svhc json,
    bpa json,
    heavy_metals json,
    product_category text,
    markets text[],
    gtin text,
    ppwr_role text,
    packaging_level text,
    packaging_format text,
    brand_id uuid,
    manufacturing_site_id uuid,
    packing_site_id uuid,
    empty_space_ratio double precision,
    reusable boolean,
    reuse_system_type text,
    reuse_cycles_target integer,
    reuse_pool_owner text,
    reuse_deposit_system boolean,
    reuse_return_mechanism text,
    reuse_reconditioning text,
    reuse_asset_identifier text,
    use_contexts text[],
    minimisation_assessed boolean,
    sorting_label_scheme text,
    material_marking_applied boolean,
    components json,
    volumes json,
    components_weight_g double precision,
    recyclability_grade text NOT NULL,
    recyclability_score double precision,
    grade_provisional boolean NOT NULL,
    ruleset_version text NOT NULL,
    version integer NOT NULL,
    transaction_id uuid NOT NULL,
    import_id uuid,
    import_sheet text,
    import_line integer,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT pk_sku_versions PRIMARY KEY (id, version)
);
COMMENT ON COLUMN sku_versions.volumes IS '{"FR/2026/0": units}: market, year, half; sorted by key';
COMMENT ON COLUMN sku_versions.components_weight_g IS 'sum over the graph; null without a graph';
COMMENT ON COLUMN sku_versions.version IS '1 at creation, one more at each change';
COMMENT ON COLUMN sku_versions.transaction_id IS 'the audit transaction that wrote it';
COMMENT ON COLUMN sku_versions.import_id IS 'the import that wrote this version, with sheet and line';
GRANT SELECT,INSERT ON sku_versions TO pcds_app;

CREATE TABLE skus (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    sku_code text NOT NULL,
    name text NOT NULL,
    description text,
    material text,
    material_subtype text,
    weight_grams double precision,
    recycled_content_percent double precision,
    food_contact boolean,
    pfas json,
    svhc json,
    bpa json,
    heavy_metals json,
    product_category text,
    markets text[],
    gtin text,
    ppwr_role text,
    packaging_level text,
    packaging_format text,
    brand_id uuid,
    manufacturing_site_id uuid,
    packing_site_id uuid,
    empty_space_ratio double precision,
    reusable boolean,
    reuse_system_type text,
    reuse_cycles_target integer,
    reuse_pool_owner text,
    reuse_deposit_system boolean,
    reuse_return_mechanism text,
    reuse_reconditioning text,
    reuse_asset_identifier text,
    use_contexts text[],
    minimisation_assessed boolean,
    sorting_label_scheme text,
    material_marking_applied boolean,
    components json,
    volumes json,
    components_weight_g double precision,
    recyclability_grade text NOT NULL,
    recyclability_score double precision,
    grade_provisional boolean NOT NULL,
    ruleset_version text NOT NULL,
    version integer NOT NULL,
    transaction_id uuid NOT NULL,
    import_id uuid,
    import_sheet text,
    import_line integer,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    words text GENERATED ALWAYS AS (pcds_sku_words(sku_code, name, gtin, material, material_subtype, packaging_format, product_category, components)) STORED,
    CONSTRAINT pk_skus PRIMARY KEY (id),
    CONSTRAINT uq_skus_company_id_sku_code UNIQUE (company_id, sku_code)
)
WITH (fillfactor='50');
CREATE INDEX ix_skus_newest ON skus (company_id, created_at DESC, id);
COMMENT ON COLUMN skus.volumes IS '{"FR/2026/0": units}: market, year, half; sorted by key';
COMMENT ON COLUMN skus.components_weight_g IS 'sum over the graph; null without a graph';
COMMENT ON COLUMN skus.version IS '1 at creation, one more at each change';
COMMENT ON COLUMN skus.transaction_id IS 'the audit transaction that wrote it';
COMMENT ON COLUMN skus.import_id IS 'the import that wrote this version, with sheet and line';
COMMENT ON COLUMN skus.words IS 'texts by which the SKU is found, in small letters without accents, the name first';
CREATE TRIGGER only_archived AFTER DELETE ON skus FOR EACH ROW EXECUTE FUNCTION pcds_only_archived();
GRANT SELECT,INSERT,DELETE,UPDATE ON skus TO pcds_app;
