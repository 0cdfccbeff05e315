"""Serves the floor of admission: the service itself, with the key looked up inside the read's query.

That is the least that authentication costs: no limit, no window, no token, no statement of its own. `bench.access`
starts it under uvicorn with the settings of the service beside it.
"""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from api import skus
from api.app import create
from api.auth import Credential
from api.service import service_of
from warehouse.sessions import AsyncConnection

FUNCTION = """
CREATE OR REPLACE FUNCTION bench_authenticate(presented bytea) RETURNS TABLE (company_id uuid)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
DECLARE found uuid;
BEGIN
    SELECT keys.company_id INTO found FROM api_keys AS keys JOIN companies ON companies.id = keys.company_id
    WHERE keys.key_hash = presented AND keys.revoked_at IS NULL;
    PERFORM set_config('app.company_id', coalesce(found::text, ''), true);
    RETURN QUERY SELECT found;
END $$;
GRANT EXECUTE ON FUNCTION bench_authenticate(bytea) TO pcds_app
"""


async def _read(request: Request, credential: Credential, query: str, parameters: Mapping[str, Any]) -> Any:
    """Answer like `api.reading.read`, in one statement and without a limit."""
    statement = f"SELECT answer.* FROM bench_authenticate(%(presented)s) LEFT JOIN ({query}) AS answer ON true"

    async def ask(connection: AsyncConnection) -> Any:
        sent = {**parameters, "presented": credential.digest}
        return await (await connection.execute(statement, sent)).fetchone()

    return await service_of(request).reading(ask)


setattr(skus, "read", _read)  # noqa: B010  (a name that the module has for itself)
app = create()
