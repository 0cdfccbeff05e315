"""Forgetting where requests came from: addresses and user agents after 12 calendar months; the actions are kept."""

from datetime import datetime
from typing import Any, Final

import psycopg

_ANONYMISE: Final = "SELECT pcds_anonymise((%s AT TIME ZONE 'UTC' - interval '12 months') AT TIME ZONE 'UTC')"


def anonymise(conn: psycopg.Connection[Any], now: datetime) -> int:
    """Forget them in the session's company, in its ledger and its imports; how many records were changed.

    Addresses and agents lie outside every digest, so that the chain holds (decisions §3). The database lets the
    application do this through one function and change nothing else of the ledger.
    """
    row = conn.execute(_ANONYMISE, [now]).fetchone()
    assert row is not None, "a function answers one row"
    return int(row[0])
