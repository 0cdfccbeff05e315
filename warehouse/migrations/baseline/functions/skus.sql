CREATE FUNCTION pcds_only_archived() RETURNS trigger
LANGUAGE plpgsql
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
BEGIN
    IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE')
        AND NOT EXISTS (SELECT FROM archived_skus WHERE sku_id = OLD.id AND version = OLD.version + 1) THEN
        RAISE EXCEPTION USING MESSAGE = 'SKU ' || OLD.id || ' leaves skus without being archived';
    END IF;
    RETURN NULL;
END $$;

-- The words by which a SKU is found: its texts in small letters without accents. pg_c_utf8 knows the letters of all
-- scripts, whatever the database's locale; a server before Postgres 17 has another collation in its place
-- (0001_baseline.py). Plain ASCII, which most texts are, is only lowered. The letters replaced last are no letter with a
-- mark to Unicode.
CREATE FUNCTION pcds_words(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN octet_length($1) = char_length($1) THEN lower($1)
    ELSE replace(replace(replace(replace(replace(
        lower(regexp_replace(normalize($1, NFKD), '[\u0300-\u036F]', '', 'g') COLLATE pg_c_utf8),
        'ß', 'ss'), 'œ', 'oe'), 'æ', 'ae'), 'ø', 'o'), 'ł', 'l')
END;
REVOKE ALL ON FUNCTION pcds_words FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_words TO pcds_app;

-- A line for each text, the name first: the column is also the order of names. Postgres puts the body of this function
-- into the statement that stores a row, but not that of `pcds_words`, whose argument is more than a column: that call
-- took a third of the time of storing an imported row, so only texts that are not plain ASCII, and the parts, are given
-- to it. jsonb refuses the character U+0000, which a graph stored by the first releases may have.
CREATE FUNCTION pcds_sku_words(
    sku_code text, name text, gtin text, material text, material_subtype text, packaging_format text,
    product_category text, components json
) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN octet_length(
        (name || chr(10) || sku_code
        || coalesce(chr(10) || gtin, '') || coalesce(chr(10) || material, '')
        || coalesce(chr(10) || material_subtype, '') || coalesce(chr(10) || packaging_format, '')
        || coalesce(chr(10) || product_category, ''))
    ) = char_length(
        (name || chr(10) || sku_code
        || coalesce(chr(10) || gtin, '') || coalesce(chr(10) || material, '')
        || coalesce(chr(10) || material_subtype, '') || coalesce(chr(10) || packaging_format, '')
        || coalesce(chr(10) || product_category, ''))
    ) THEN lower(
        (name || chr(10) || sku_code
        || coalesce(chr(10) || gtin, '') || coalesce(chr(10) || material, '')
        || coalesce(chr(10) || material_subtype, '') || coalesce(chr(10) || packaging_format, '')
        || coalesce(chr(10) || product_category, ''))
    ) ELSE pcds_words(
        (name || chr(10) || sku_code
        || coalesce(chr(10) || gtin, '') || coalesce(chr(10) || material, '')
        || coalesce(chr(10) || material_subtype, '') || coalesce(chr(10) || packaging_format, '')
        || coalesce(chr(10) || product_category, ''))
    ) END
    || CASE WHEN strpos(components::text, '\u0000') = 0
       THEN coalesce(chr(10) || pcds_words(
           jsonb_path_query_array(components::jsonb, '$[*].polymer_or_grade')::text), '')
       ELSE '' END;
REVOKE ALL ON FUNCTION pcds_sku_words FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_sku_words TO pcds_app;
