"""Replaces two functions that every request or write runs by cheaper ones with the same signatures and answers.

`pcds_admit_counted` looks a key up in one statement, and no longer calls `pcds_admit`, which stays for statements under
way; it calls `pcds_take`, which 0018 replaces by a cheaper one, too.
`pcds_sku_words` is in PL/pgSQL, which plans its expressions once a session: SQL in a computed column is planned in
every statement that stores a row. No table is locked, and stored words stay as they are.
"""

from alembic import op

revision = "0003"
down_revision = "0002"

_ADMIT = """
CREATE OR REPLACE FUNCTION pcds_admit_counted(
    presented bytea, is_token boolean, usual_ceiling integer, at timestamptz
) RETURNS TABLE(
    client_id uuid, company_id uuid, name text, scopes text[], plan text, digest bytea, retry_after integer,
    quota integer, remaining integer, reset integer
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
#variable_conflict use_variable
DECLARE
    since CONSTANT timestamptz := at - interval '60 s';
    until CONSTANT timestamptz := at + interval '60 s';
    key_digest bytea := presented;
    token_scopes text[];
    last_used timestamptz;
    spender text;
BEGIN
    IF is_token THEN
        SELECT keys.key_hash, tokens.scopes INTO key_digest, token_scopes
        FROM bearer_tokens AS tokens JOIN api_keys AS keys ON keys.id = tokens.client_id
        WHERE tokens.token_hash = presented AND tokens.expires_at > at;
    END IF;
    SELECT keys.id, keys.company_id, keys.name, coalesce(token_scopes, keys.scopes), companies.plan, presented,
        coalesce(windows.per_minute, usual_ceiling), keys.last_used_at
    INTO client_id, company_id, name, scopes, plan, digest, quota, last_used
    FROM api_keys AS keys
    JOIN companies ON companies.id = keys.company_id
    LEFT JOIN request_windows AS windows
        ON windows.client_id = keys.id AND windows.opens_at <= at AND (windows.closes_at > at) IS NOT FALSE
    WHERE keys.key_hash = key_digest AND keys.revoked_at IS NULL;
    IF FOUND THEN
        spender := 'key:' || client_id;
        retry_after := pcds_take(spender, quota, at);
        IF retry_after > 0 THEN
            remaining := 0;
            reset := retry_after;
        ELSE
            IF last_used IS NULL OR last_used < at - interval '1 hour' THEN
                UPDATE api_keys AS keys SET last_used_at = at WHERE keys.id = client_id;
            END IF;
            SELECT greatest(quota - coalesce(sum(slot.requests), 0), 0),
                greatest(1, ceil(extract(epoch FROM coalesce(min(slot.taken_at), at) - since)))
            INTO remaining, reset
            FROM request_slots AS slot
            WHERE slot.spender = spender AND slot.taken_at > since AND slot.taken_at < until;
        END IF;
        RETURN NEXT;
    END IF;
    PERFORM set_config('app.company_id', CASE WHEN retry_after = 0 THEN company_id::text ELSE '' END, true);
END $$
"""
# The body names its schema: a computed column is stored by sessions with any search path, a restore's among them.
_WORDS = r"""
CREATE OR REPLACE FUNCTION pcds_sku_words(
    sku_code text, name text, gtin text, material text, material_subtype text, packaging_format text,
    product_category text, components json
) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    texts CONSTANT text := name || chr(10) || sku_code
        || coalesce(chr(10) || gtin, '') || coalesce(chr(10) || material, '')
        || coalesce(chr(10) || material_subtype, '') || coalesce(chr(10) || packaging_format, '')
        || coalesce(chr(10) || product_category, '');
    words text := CASE WHEN octet_length(texts) = char_length(texts) THEN lower(texts)
        ELSE public.pcds_words(texts) END;
    grades text;
BEGIN
    IF strpos(components::text, '\u0000') = 0 THEN
        grades := jsonb_path_query_array(components::jsonb, '$[*].polymer_or_grade')::text;
        words := words || coalesce(chr(10) || public.pcds_words(grades), '');
    END IF;
    RETURN words;
END $$
"""


def upgrade() -> None:
    """Replace the functions; a statement under way ends with those that it began with."""
    for function in (_ADMIT, _WORDS):
        op.get_bind().exec_driver_sql(function)
