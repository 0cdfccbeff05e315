"""Says which revision of the tables a database has, and which ones this release knows.

Every process asks that; `warehouse.operate.migrate` alone changes it, with libraries that take memory.
"""

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from warehouse.operate.sessions import Connection
from warehouse.operate.settings import SettingsError

_VERSIONS: Final = Path(__file__).parents[1] / "migrations" / "versions"
_TABLE: Final = "SELECT to_regclass('public.alembic_version')"
_REVISION: Final = "SELECT version_num, to_regclass('public.key_probes') IS NULL FROM public.alembic_version"
"""With whether a table of the baseline is missing: the first migrations had the numbers of those that follow it."""
FROM_BASELINE: Final = "key_probes"
"""That table, by which the tables of a backup are told as well."""

BEFORE_BASELINE: Final = "0055"
"""The last revision before all earlier migrations became the baseline: its tables are the baseline's."""


@cache
def every() -> tuple[str, ...]:
    """Return the revisions that this release knows, the oldest first."""
    return tuple(sorted(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*.py")))


def head() -> str:
    """Return the newest revision of this release."""
    return every()[-1]


def knows(revision: str) -> bool:
    """Return whether it is a revision of this release or of an earlier one that can be brought to it."""
    return revision in (*every(), BEFORE_BASELINE)


def revision_of(owner: Connection) -> str | None:
    """Return the revision of the database's tables; None where it has none. The connection is the owner's."""
    if owner.execute(_TABLE).fetchone() == (None,):
        return None
    row = owner.execute(_REVISION).fetchone()
    return None if row is None else str(row[0])


class Strange(NamedTuple):
    """Tables that this release cannot bring to its own: what is wrong with them, and what remedies it."""

    wrong: str
    remedy: str


def strange(owner: Connection) -> Strange | None:
    """Return why this release cannot upgrade the tables: a newer or a too old one made them; None where it can."""
    revision = revision_of(owner)
    if revision is None:
        return None
    row = owner.execute(_REVISION).fetchone()
    if (row is not None and row[1]) or (revision < BEFORE_BASELINE and not knows(revision)):
        return Strange(
            f"The tables are those of a release before the first that can be upgraded (revision {revision}).",
            f"Bring them to revision {BEFORE_BASELINE} with the release that made that one, and come again.",
        )
    if not knows(revision):
        return Strange(
            f"The tables are those of a newer release (revision {revision}; this one knows none behind {head()}).",
            "Install the release that last ran here, or a newer one.",
        )
    return None


def refuse_strange(owner: Connection) -> str | None:
    """Return the revision of the tables. Raise `SettingsError` where a newer or a too old release made them."""
    if (fault := strange(owner)) is not None:
        raise SettingsError(f"{fault.wrong} Nothing was changed. {fault.remedy}")
    return revision_of(owner)
