"""Stamps each ledger transaction, after its commit, with the time from which it was visible (decision 0033).

`updated_at` is set before the commit, so it does not say when others could see the row. A ledger transaction therefore
has `visible_at`: null until a session that sees the committed transaction stamps it, then an instant after its commit.
A later stamp of a company is always greater than every stamp that could be seen before that transaction could.

What belongs here: stamping, and the conditions on stamps in a list of changes. What does not: when transactions are
stamped (`warehouse.operate.sessions`), and the list (`warehouse.skus.queries`).
"""

from typing import Final

STAMP: Final = """
UPDATE audit_transactions AS seen
SET visible_at = greatest(
    seen.at, clock_timestamp() + %s::interval,
    (SELECT max(visible_at) FROM audit_transactions) + interval '1 microsecond')
WHERE seen.id = ANY(ARRAY(SELECT id FROM audit_transactions WHERE visible_at IS NULL FOR UPDATE SKIP LOCKED))"""
"""Stamps the committed and unstamped transactions of the session's company; its parameter is the clock's offset.

The statement itself reads the database's clock, after the commits before it are done. It skips transactions that
another session stamps at the same moment. Adding a microsecond needs no clock: a reader that saw an earlier stamp and
not this transaction finds it above that stamp, even where the clock was set back between.
"""

STAMP_ALL: Final = "SELECT pcds_stamp_visible(%s::interval)"
"""The same for every company, for transactions whose writers did not stamp them; returns how many it stamped."""

LONGEST: Final = "interval '1 hour'"
"""Longest time from the beginning of a write to its commit: eight attempts, each within the limit of a statement."""

AS_OF: Final = f"""least(
    greatest((SELECT max(visible_at) FROM audit_transactions) + interval '1 microsecond',
             %(now)s::timestamptz - {LONGEST}),
    (%(today)s::date + 1)::timestamp AT TIME ZONE 'UTC')"""
"""The instant from which a caller misses no change, where it has seen everything that this statement sees.

Every transaction that this statement does not see will have a greater stamp. Where nothing was written lately it lags
behind the clock, so that a clock that is set back loses nothing either. It never passes the end of the day whose
statuses were shown.
"""

LATE: Final = f"""
    SELECT id, first_entry, entries FROM audit_transactions
    WHERE visible_at IS NULL
    UNION ALL
    SELECT id, first_entry, entries FROM audit_transactions
    WHERE at < %(updated_since)s::timestamptz AND at >= %(updated_since)s::timestamptz - {LONGEST}
      AND visible_at >= %(updated_since)s::timestamptz"""
"""The transactions that began before `updated_since` and may have become visible after it."""
