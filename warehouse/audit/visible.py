"""When a write could first be seen: a stamp on each ledger transaction, given after its commit (decision 0033).

`updated_at` is set before the commit, so that it says nothing of who could see a row when. A link of the ledger
therefore has `visible_at`: null while the transaction is under way and until somebody who sees it stamps it, then an
instant that lies after its commit. A later stamp of a company is always greater than every stamp that could be seen
before that transaction could.

What belongs here: stamping, and what a list of changes asks of the stamps. What does not: when it is stamped
(`warehouse.sessions`), and the list (`warehouse.skus.queries`).
"""

from typing import Final

STAMP: Final = """
WITH unstamped AS MATERIALIZED (
    SELECT id FROM audit_transactions WHERE visible_at IS NULL FOR UPDATE SKIP LOCKED
)
UPDATE audit_transactions AS seen
SET visible_at = greatest(
    seen.at, clock_timestamp() + %s::interval,
    (SELECT max(visible_at) FROM audit_transactions) + interval '1 microsecond')
WHERE seen.id = ANY(ARRAY(SELECT id FROM unstamped))"""
"""Stamps what the session's company has committed and nobody has stamped; asks for how far the clock was moved.

The database's clock is read by the statement itself, which begins when the commits before it are done. What another
stamps at the same moment is left to it. The addition of a microsecond needs no clock: whoever saw an earlier stamp and
not this transaction finds it above that stamp, though the clock was set back between.
"""

STAMP_ALL: Final = "SELECT pcds_stamp_visible(%s::interval)"
"""The same for every company, for what no writer came back to: how many it stamped."""

LONGEST: Final = "interval '1 hour'"
"""No write begins longer than this before its commit: eight attempts, each within the limit of a statement."""

AS_OF: Final = f"""least(
    greatest((SELECT max(visible_at) FROM audit_transactions) + interval '1 microsecond',
             %(now)s::timestamptz - {LONGEST}),
    (%(today)s::date + 1)::timestamp AT TIME ZONE 'UTC')"""
"""The instant from which on nothing is missed by whoever has seen what this statement sees.

What this statement does not see will have a greater stamp. Where nothing was written lately it lags behind the clock,
so that a clock that is set back takes nothing either. It never passes the end of the day whose statuses were shown.
"""

LATE: Final = f"""
    SELECT id, first_entry, entries FROM audit_transactions
    WHERE visible_at IS NULL
    UNION ALL
    SELECT id, first_entry, entries FROM audit_transactions
    WHERE at < %(updated_since)s::timestamptz AND at >= %(updated_since)s::timestamptz - {LONGEST}
      AND visible_at >= %(updated_since)s::timestamptz"""
"""The transactions that began before `updated_since` and may have come to be seen after it."""
