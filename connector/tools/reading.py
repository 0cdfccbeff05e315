"""Reads of one statement as the connection's company, sent with their transaction in one round trip."""

from typing import Any, Final
from uuid import UUID

from connector.service import Service
from warehouse.sessions import AsyncConnection

_BECOME: Final = "SELECT set_config('app.company_id', %s, true)"


async def row(service: Service, company_id: UUID, query: str, parameters: dict[str, Any]) -> tuple[Any, ...] | None:
    """The query's first row, seen as the company; None where there is none. Sent again where a connection had died."""

    async def ask(conn: AsyncConnection) -> tuple[Any, ...] | None:
        async with conn.pipeline():
            await conn.execute("BEGIN READ ONLY")
            await conn.execute(_BECOME, [str(company_id)])
            found = await conn.execute(query, parameters)
            await conn.execute("COMMIT")
            return await found.fetchone()

    return await service.reading(ask)
