-- Every table of release 1, as it was then. Columns are described at the end; policies and grants are in 0001_tables.py.

CREATE TABLE plans (
    plan TEXT NOT NULL,
    sku_limit INTEGER,
    connector_calls_per_minute INTEGER NOT NULL,
    audit_log BOOLEAN NOT NULL,
    api_keys BOOLEAN NOT NULL,
    CONSTRAINT pk_plans PRIMARY KEY (plan)
);

CREATE TABLE companies (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_companies PRIMARY KEY (id),
    CONSTRAINT fk_companies_plan FOREIGN KEY(plan) REFERENCES plans (plan)
);

CREATE TABLE company_counters (
    company_id UUID NOT NULL,
    skus BIGINT DEFAULT '0' NOT NULL,
    CONSTRAINT pk_company_counters PRIMARY KEY (company_id),
    CONSTRAINT fk_company_counters_company_id FOREIGN KEY(company_id) REFERENCES companies (id)
);

CREATE TABLE api_keys (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    name TEXT NOT NULL,
    key_hash BYTEA NOT NULL,
    scopes TEXT[] NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revoked_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_api_keys PRIMARY KEY (id),
    CONSTRAINT uq_api_keys_key_hash UNIQUE (key_hash)
);

CREATE TABLE brands (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    name TEXT NOT NULL,
    owner_name TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_brands PRIMARY KEY (id),
    CONSTRAINT uq_brands_company_id_name UNIQUE (company_id, name)
);

CREATE TABLE sites (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    name TEXT NOT NULL,
    roles TEXT[] NOT NULL,
    country TEXT,
    city TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_sites PRIMARY KEY (id),
    CONSTRAINT uq_sites_company_id_name UNIQUE (company_id, name)
);

CREATE TABLE suppliers (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    name TEXT NOT NULL,
    email TEXT,
    country TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_suppliers PRIMARY KEY (id),
    CONSTRAINT uq_suppliers_company_id_name UNIQUE (company_id, name)
);

CREATE TABLE library_components (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    code TEXT NOT NULL,
    name TEXT NOT NULL,
    component_type TEXT NOT NULL,
    material_family TEXT NOT NULL,
    polymer_or_grade TEXT,
    weight_g DOUBLE PRECISION,
    supplier_id UUID,
    colour TEXT,
    recycled_content_percent DOUBLE PRECISION,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_library_components PRIMARY KEY (id),
    CONSTRAINT uq_library_components_company_id_code UNIQUE (company_id, code)
);

CREATE TABLE skus (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    sku_code TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    material TEXT,
    material_subtype TEXT,
    weight_grams DOUBLE PRECISION,
    recycled_content_percent DOUBLE PRECISION,
    food_contact BOOLEAN,
    pfas JSON,
    svhc JSON,
    bpa JSON,
    heavy_metals JSON,
    product_category TEXT,
    markets TEXT[],
    gtin TEXT,
    ppwr_role TEXT,
    packaging_level TEXT,
    packaging_format TEXT,
    brand_id UUID,
    manufacturing_site_id UUID,
    packing_site_id UUID,
    empty_space_ratio DOUBLE PRECISION,
    reusable BOOLEAN,
    reuse_system_type TEXT,
    reuse_cycles_target INTEGER,
    reuse_pool_owner TEXT,
    reuse_deposit_system BOOLEAN,
    reuse_return_mechanism TEXT,
    reuse_reconditioning TEXT,
    reuse_asset_identifier TEXT,
    use_contexts TEXT[],
    minimisation_assessed BOOLEAN,
    sorting_label_scheme TEXT,
    material_marking_applied BOOLEAN,
    components JSON,
    volumes JSON,
    components_weight_g DOUBLE PRECISION,
    recyclability_grade TEXT NOT NULL,
    recyclability_score DOUBLE PRECISION,
    grade_provisional BOOLEAN NOT NULL,
    ruleset_version TEXT NOT NULL,
    version INTEGER NOT NULL,
    transaction_id UUID NOT NULL,
    import_id UUID,
    import_sheet TEXT,
    import_line INTEGER,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_skus PRIMARY KEY (id),
    CONSTRAINT uq_skus_company_id_sku_code UNIQUE (company_id, sku_code)
)
 WITH (fillfactor = 50);

CREATE INDEX ix_skus_newest ON skus (company_id, created_at DESC, id);

CREATE TABLE sku_versions (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    sku_code TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    material TEXT,
    material_subtype TEXT,
    weight_grams DOUBLE PRECISION,
    recycled_content_percent DOUBLE PRECISION,
    food_contact BOOLEAN,
    pfas JSON,
    svhc JSON,
    bpa JSON,
    heavy_metals JSON,
    product_category TEXT,
    markets TEXT[],
    gtin TEXT,
    ppwr_role TEXT,
    packaging_level TEXT,
    packaging_format TEXT,
    brand_id UUID,
    manufacturing_site_id UUID,
    packing_site_id UUID,
    empty_space_ratio DOUBLE PRECISION,
    reusable BOOLEAN,
    reuse_system_type TEXT,
    reuse_cycles_target INTEGER,
    reuse_pool_owner TEXT,
    reuse_deposit_system BOOLEAN,
    reuse_return_mechanism TEXT,
    reuse_reconditioning TEXT,
    reuse_asset_identifier TEXT,
    use_contexts TEXT[],
    minimisation_assessed BOOLEAN,
    sorting_label_scheme TEXT,
    material_marking_applied BOOLEAN,
    components JSON,
    volumes JSON,
    components_weight_g DOUBLE PRECISION,
    recyclability_grade TEXT NOT NULL,
    recyclability_score DOUBLE PRECISION,
    grade_provisional BOOLEAN NOT NULL,
    ruleset_version TEXT NOT NULL,
    version INTEGER NOT NULL,
    transaction_id UUID NOT NULL,
    import_id UUID,
    import_sheet TEXT,
    import_line INTEGER,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_sku_versions PRIMARY KEY (id, version)
);

CREATE TABLE docs (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    sku_id UUID,
    reference TEXT,
    supplier_name TEXT,
    status TEXT NOT NULL,
    issued_on DATE,
    expires_on DATE,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_docs PRIMARY KEY (id)
);

CREATE INDEX ix_docs_company_id_sku_id ON docs (company_id, sku_id);

CREATE TABLE imports (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    status TEXT NOT NULL,
    dry_run BOOLEAN NOT NULL,
    filename TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    upload_key TEXT NOT NULL,
    table_key TEXT NOT NULL,
    default_year INTEGER NOT NULL,
    source JSON NOT NULL,
    rows_total INTEGER NOT NULL,
    rows_done INTEGER DEFAULT '0' NOT NULL,
    position INTEGER DEFAULT '0' NOT NULL,
    created INTEGER DEFAULT '0' NOT NULL,
    updated INTEGER DEFAULT '0' NOT NULL,
    unchanged INTEGER DEFAULT '0' NOT NULL,
    rejected INTEGER DEFAULT '0' NOT NULL,
    failure JSON,
    claim UUID,
    attempts INTEGER DEFAULT '0' NOT NULL,
    run_id TEXT,
    key_id UUID NOT NULL,
    key_name TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    ip TEXT,
    user_agent TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE,
    heartbeat_at TIMESTAMP WITH TIME ZONE,
    finished_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_imports PRIMARY KEY (id)
);

CREATE INDEX ix_imports_open ON imports (created_at) WHERE status IN ('queued', 'processing');

CREATE TABLE import_errors (
    company_id UUID NOT NULL,
    import_id UUID NOT NULL,
    sheet_position INTEGER NOT NULL,
    line INTEGER NOT NULL,
    number INTEGER NOT NULL,
    sheet TEXT,
    sku_code TEXT,
    field TEXT,
    "column" TEXT,
    value TEXT,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    CONSTRAINT pk_import_errors PRIMARY KEY (import_id, sheet_position, line, number)
);

CREATE TABLE audit_transactions (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    actor_type TEXT NOT NULL,
    actor_id TEXT,
    actor_name TEXT,
    reason TEXT,
    correlation_id TEXT NOT NULL,
    ip TEXT,
    user_agent TEXT,
    CONSTRAINT pk_audit_transactions PRIMARY KEY (id)
);

CREATE TABLE audit_entries (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    company_id UUID NOT NULL,
    transaction_id UUID NOT NULL,
    action TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    version INTEGER,
    before JSON,
    after JSON,
    CONSTRAINT pk_audit_entries PRIMARY KEY (company_id, id)
);

CREATE TABLE jurisdictions (
    code TEXT NOT NULL,
    name TEXT NOT NULL,
    parent_code TEXT,
    system TEXT,
    register_name TEXT,
    register_url TEXT,
    law_title TEXT,
    law_reference TEXT,
    law_date DATE,
    law_date_seen TEXT,
    scope TEXT,
    reporting_period TEXT,
    authorised_representative_required TEXT,
    local_labelling_rule TEXT,
    depth INTEGER NOT NULL,
    verified_on DATE,
    source_url TEXT,
    source_note TEXT,
    region TEXT NOT NULL,
    system_key TEXT NOT NULL,
    in_catalogue BOOLEAN NOT NULL,
    reviewed_on DATE,
    composite_rule TEXT,
    composite_threshold_percent INTEGER,
    composite_basis TEXT,
    composite_note TEXT,
    CONSTRAINT pk_jurisdictions PRIMARY KEY (code)
);

CREATE TABLE catalogue_loads (
    id UUID NOT NULL,
    loaded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    source_hash TEXT NOT NULL,
    rows INTEGER NOT NULL,
    changes JSON NOT NULL,
    pinned BOOLEAN NOT NULL,
    CONSTRAINT pk_catalogue_loads PRIMARY KEY (id)
);

COMMENT ON COLUMN plans.sku_limit IS 'SKUs that the plan holds; null is no limit';
COMMENT ON COLUMN plans.api_keys IS 'keys without the operator''s override';
COMMENT ON COLUMN api_keys.key_hash IS 'SHA-256 of the key';
COMMENT ON COLUMN skus.volumes IS '{"FR/2026/0": units}: market, year, half; sorted by key';
COMMENT ON COLUMN skus.components_weight_g IS 'sum over the graph; null without a graph';
COMMENT ON COLUMN skus.version IS '1 at creation, one more at each change';
COMMENT ON COLUMN skus.transaction_id IS 'the audit transaction that wrote it';
COMMENT ON COLUMN skus.import_id IS 'the import that wrote this version, with sheet and line';
COMMENT ON COLUMN sku_versions.volumes IS '{"FR/2026/0": units}: market, year, half; sorted by key';
COMMENT ON COLUMN sku_versions.components_weight_g IS 'sum over the graph; null without a graph';
COMMENT ON COLUMN sku_versions.version IS '1 at creation, one more at each change';
COMMENT ON COLUMN sku_versions.transaction_id IS 'the audit transaction that wrote it';
COMMENT ON COLUMN sku_versions.import_id IS 'the import that wrote this version, with sheet and line';
COMMENT ON COLUMN imports.sha256 IS 'of the uploaded bytes, hexadecimal';
COMMENT ON COLUMN imports.upload_key IS 'the uploaded bytes in the object store';
COMMENT ON COLUMN imports.table_key IS 'the table read from them, in the object store';
COMMENT ON COLUMN imports.default_year IS 'of volume columns that name no year';
COMMENT ON COLUMN imports.source IS 'ImportSource';
COMMENT ON COLUMN imports.rows_total IS 'data lines';
COMMENT ON COLUMN imports.position IS 'typed rows committed';
COMMENT ON COLUMN imports.failure IS 'Issue';
COMMENT ON COLUMN imports.claim IS 'of the run that may write the next chunk';
COMMENT ON COLUMN imports.run_id IS 'the Dagster run that holds or held the claim';
COMMENT ON COLUMN import_errors.sheet_position IS '0 the main table, 1 the components sheet';
COMMENT ON COLUMN import_errors.line IS 'of the caller''s file, from 1';
COMMENT ON COLUMN import_errors.number IS 'among the faults of one line';
COMMENT ON COLUMN audit_entries.version IS 'of the SKU, where the entry is about one';
COMMENT ON COLUMN jurisdictions.depth IS 'as recorded; what is served is derived on read';
COMMENT ON COLUMN jurisdictions.in_catalogue IS 'served';
COMMENT ON COLUMN jurisdictions.reviewed_on IS 'of the lawyer''s review behind depth 3';
COMMENT ON COLUMN catalogue_loads.changes IS 'added, changed, removed codes';
COMMENT ON COLUMN catalogue_loads.pinned IS 'false where an operator loaded a file';
