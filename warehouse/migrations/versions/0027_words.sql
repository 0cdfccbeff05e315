-- The words by which a SKU is found: its texts in small letters without accents, kept by Postgres beside the row.

-- pg_c_utf8 knows the letters of all scripts, whatever the database's locale; a server before Postgres 17 has another
-- collation in its place (0032_words.py). Plain ASCII, which most texts are, is only lowered. The letters replaced last
-- are no letter with a mark to Unicode.
CREATE FUNCTION pcds_words(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN octet_length($1) = char_length($1) THEN lower($1)
    ELSE replace(replace(replace(replace(replace(
        lower(regexp_replace(normalize($1, NFKD), '[\u0300-\u036F]', '', 'g') COLLATE pg_c_utf8),
        'ß', 'ss'), 'œ', 'oe'), 'æ', 'ae'), 'ø', 'o'), 'ł', 'l')
END;

-- A line for each text, the name first: the column is also the order of names. jsonb refuses the character U+0000,
-- which a graph stored by the first releases may have.
CREATE FUNCTION pcds_sku_words(
    sku_code text, name text, gtin text, material text, material_subtype text, packaging_format text,
    product_category text, components json
) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pcds_words(
    name || chr(10) || sku_code
    || coalesce(chr(10) || gtin, '') || coalesce(chr(10) || material, '') || coalesce(chr(10) || material_subtype, '')
    || coalesce(chr(10) || packaging_format, '') || coalesce(chr(10) || product_category, '')
    || CASE WHEN strpos(components::text, '\u0000') = 0
       THEN coalesce(chr(10) || jsonb_path_query_array(components::jsonb, '$[*].polymer_or_grade')::text, '')
       ELSE '' END
);

ALTER TABLE skus ADD COLUMN words text GENERATED ALWAYS AS (pcds_sku_words(
    sku_code, name, gtin, material, material_subtype, packaging_format, product_category, components)) STORED;
COMMENT ON COLUMN skus.words IS 'texts by which the SKU is found, in small letters without accents, the name first';
