"""Serves the floor of requests: bare ASGI, one psycopg pipeline a request, the database's JSON unchanged.

`bench.requests` starts it under uvicorn with the database's address in `BENCH_DSN` and the company in `BENCH_COMPANY`.
GET / answers a page (`?limit=`); POST / upserts one SKU, its six components and an audit line in one statement.
"""

import json
import os
from typing import Any
from urllib.parse import parse_qs

import psycopg
import psycopg_pool

_COMPANY = os.environ["BENCH_COMPANY"]
_SET = "SELECT set_config('app.company_id', %s, true)"
_PAGE = """
SELECT json_build_object('data', coalesce(json_agg(page), '[]'::json))::text FROM (
    SELECT id, sku_code, name, description, material, material_subtype, weight_grams, recyclability_grade,
           recyclability_score, recycled_content_percent, food_contact, product_category, markets, packaging_level,
           packaging_format, gtin, ppwr_role, brand_id, manufacturing_site_id, packing_site_id, created_at, updated_at
    FROM skus WHERE company_id = %s ORDER BY created_at DESC, id LIMIT %s) AS page
"""
_WRITE = """
WITH before AS (
    SELECT to_jsonb(s) AS record FROM bench_written s WHERE company_id = %(company)s AND sku_code = %(code)s),
held AS (
    INSERT INTO bench_written
        (company_id, sku_code, name, packaging_format, packaging_level, markets, grade, updated_at)
    VALUES (%(company)s, %(code)s, %(name)s, %(format)s, %(level)s, %(markets)s, 'A', now())
    ON CONFLICT (company_id, sku_code) DO UPDATE SET name = excluded.name, packaging_format = excluded.packaging_format,
        packaging_level = excluded.packaging_level, markets = excluded.markets, updated_at = excluded.updated_at
    RETURNING *),
parts AS (
    INSERT INTO bench_components (sku_id, position, component_type, material_family, polymer_or_grade, weight_g)
    SELECT held.id, p.position, p.part->>'component_type', p.part->>'material_family', p.part->>'polymer_or_grade',
           (p.part->>'weight_g')::double precision
    FROM held, json_array_elements(%(parts)s::json) WITH ORDINALITY AS p (part, position)
    ON CONFLICT (sku_id, position) DO UPDATE SET component_type = excluded.component_type,
        material_family = excluded.material_family, polymer_or_grade = excluded.polymer_or_grade,
        weight_g = excluded.weight_g)
INSERT INTO bench_audit (company_id, sku_id, before, after)
SELECT %(company)s, held.id, (SELECT record FROM before), to_jsonb(held) FROM held RETURNING sku_id::text
"""
_pool: psycopg_pool.AsyncConnectionPool[Any] = psycopg_pool.AsyncConnectionPool(
    os.environ.get("BENCH_DSN", ""), open=False, min_size=8, max_size=8
)


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer one request, or the lifespan."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    body = await _page(scope) if scope["method"] == "GET" else await _write(await _body(receive))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _lifespan(receive: Any, send: Any) -> None:
    await receive()
    await _pool.open(wait=True)
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await _pool.close()
    await send({"type": "lifespan.shutdown.complete"})


async def _body(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message.get("more_body", False)
    return body


async def _page(scope: Any) -> bytes:
    limit = int(parse_qs(scope["query_string"].decode())["limit"][0])
    async with _pool.connection() as conn, conn.pipeline():
        await conn.execute(_SET, [_COMPANY])
        cursor: psycopg.AsyncCursor[Any] = await conn.execute(_PAGE, [_COMPANY, limit])
        row = await cursor.fetchone()
    return str(row[0]).encode() if row else b""


async def _write(body: bytes) -> bytes:
    sent = json.loads(body)
    values = {
        "company": _COMPANY,
        "code": sent["sku_code"],
        "name": sent["name"],
        "format": sent["packaging_format"],
        "level": sent["packaging_level"],
        "markets": sent["markets"],
        "parts": json.dumps(sent["components"]),
    }
    async with _pool.connection() as conn, conn.pipeline():
        await conn.execute(_SET, [_COMPANY])
        cursor = await conn.execute(_WRITE, values)
        row = await cursor.fetchone()
    return json.dumps({"id": row[0] if row else None}).encode()
