CREATE TABLE brands (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    name text NOT NULL,
    owner_name text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT pk_brands PRIMARY KEY (id),
    CONSTRAINT uq_brands_company_id_name UNIQUE (company_id, name)
);
GRANT SELECT,INSERT,DELETE,UPDATE ON brands TO pcds_app;

CREATE TABLE library_components (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    code text NOT NULL,
    name text NOT NULL,
    component_type text NOT NULL,
    material_family text NOT NULL,
    polymer_or_grade text,
    weight_g double precision,
    supplier_id uuid,
    colour text,
    recycled_content_percent double precision,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT pk_library_components PRIMARY KEY (id),
    CONSTRAINT uq_library_components_company_id_code UNIQUE (company_id, code)
);
GRANT SELECT,INSERT,DELETE,UPDATE ON library_components TO pcds_app;

CREATE TABLE sites (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    name text NOT NULL,
    roles text[] NOT NULL,
    country text,
    city text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT pk_sites PRIMARY KEY (id),
    CONSTRAINT uq_sites_company_id_name UNIQUE (company_id, name)
);
GRANT SELECT,INSERT,DELETE,UPDATE ON sites TO pcds_app;

CREATE TABLE suppliers (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    name text NOT NULL,
    email text,
    country text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT pk_suppliers PRIMARY KEY (id),
    CONSTRAINT uq_suppliers_company_id_name UNIQUE (company_id, name)
);
GRANT SELECT,INSERT,DELETE,UPDATE ON suppliers TO pcds_app;
