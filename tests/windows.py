"""A request window for tests that send more than a key may, opened as `pcds window open` opens it."""

from uuid import UUID

import psycopg

from warehouse.accounts import keys
from warehouse.accounts.keys import Window
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database

MANY = 1_000_000


def widen(database: Database, client_id: UUID, *, per_minute: int = MANY) -> None:
    """From now on and without an end."""
    with psycopg.connect(database.owner_url) as owner:
        company = keys.company_of(owner, client_id)
        assert company is not None
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(company)])
        keys.put(owner, company, Window(client_id, per_minute, Clock().now(), None))
