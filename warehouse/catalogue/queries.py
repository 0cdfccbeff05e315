"""The jurisdiction catalogue as it is loaded: every row, in the form that `compliance.catalogue` reasons about."""

from collections.abc import Mapping
from typing import Any, Final

from compliance.catalogue import Jurisdiction
from warehouse.sessions import Connection

ALL: Final = "SELECT * FROM jurisdictions ORDER BY code"
"""Served rows and those that only rules use; which are served is the catalogue's to say."""

LOADED: Final = "SELECT EXISTS (SELECT FROM jurisdictions WHERE in_catalogue)"
"""Whether the catalogue is there: one half of being ready."""

LAST_LOAD: Final = "SELECT source_hash FROM catalogue_loads ORDER BY loaded_at DESC, id DESC LIMIT 1"
"""The hash of the file that the rows were loaded from."""

_SERVED: Final = "SELECT code FROM jurisdictions WHERE in_catalogue"
_SERVED_SUBDIVISIONS: Final = f"{_SERVED} AND parent_code IS NOT NULL"

_AS_THEY_ARE: Final = (
    "code", "name", "parent_code", "region", "system_key", "register_name", "register_url", "law_title",
    "law_reference", "law_date", "local_labelling_rule", "verified_on", "reviewed_on", "source_url", "source_note",
)  # fmt: skip
_NEVER_NULL: Final = ("system", "scope", "authorised_representative_required", "composite_rule", "composite_basis")


def served(connection: Connection) -> frozenset[str]:
    """The codes that the catalogue serves; none before it is loaded."""
    return frozenset(code for (code,) in connection.execute(_SERVED))


def served_subdivisions(connection: Connection) -> frozenset[str]:
    """Those of them that are part of another jurisdiction."""
    return frozenset(code for (code,) in connection.execute(_SERVED_SUBDIVISIONS))


def entry(row: Mapping[str, Any]) -> Jurisdiction:
    """One row of the table as an entry of the catalogue."""
    threshold = row["composite_threshold_percent"]
    columns: dict[str, Any] = {name: row[name] for name in _AS_THEY_ARE}
    columns |= {name: row[name] or "" for name in _NEVER_NULL}
    return Jurisdiction(
        **columns,
        reporting_period=tuple(filter(None, (row["reporting_period"] or "").split("|"))),
        base_depth=row["depth"],
        served=row["in_catalogue"],
        composite_threshold_percent="" if threshold is None else str(threshold),
    )
