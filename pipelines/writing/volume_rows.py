"""Writes the volumes of one SKU: makes a patch of one column from rows of (market, year, half, units).

`schemas.models` validates each row by itself; `write_patch` merges, refuses, grades and stores as for any other write.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import orjson

from pipelines.writing import volumes
from pipelines.writing.patch import Patch, array_values
from pipelines.writing.write import write_patch
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import shown
from schemas.refusals import Refused
from schemas.sku import VolumeRow
from warehouse.audit.origin import Origin
from warehouse.catalogue.queries import served_markets
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection
from warehouse.skus import archive
from warehouse.skus.columns import Table


class VolumesWritten(NamedTuple):
    """The rows as written, in their order, the warnings, and the SKU's version before and after the write."""

    rows: list[VolumeRow]
    warnings: list[Issue]
    version_before: int | None
    version: int | None


def write_volumes(
    conn: Connection,
    company_id: UUID,
    sku_code: str,
    rows: Sequence[VolumeRow],
    *,
    origin: Origin,
    now: datetime,
    rulesets: Rulesets,
    dry_run: bool,
) -> VolumesWritten:
    """Write validated rows (`schemas.models.parse_volumes`) of a stored SKU, in a session that has its company set.

    Raise `Refused` where any row is refused, or where
    the law forbids the SKU as it would be stored; nothing is written then.
    """
    written = _checked_rows(rows, served_markets(conn))
    text = _as_patch(written)
    patch = Patch(
        Table({"row": [0], "sku_code": [sku_code], "volumes": [text]}),
        Table({"sku_code": [True], "volumes": [True]}),
    )
    outcome = write_patch(
        conn,
        company_id,
        patch,
        origin=origin,
        now=now,
        rules=rulesets.active(conn),
        dry_run=dry_run,
        resource="sku_volumes",
    )
    if outcome.errors:
        raise Refused([issue for _, issue in outcome.errors])
    [markets], [version] = outcome.merged["markets"], outcome.merged["version"]
    warnings = _market_warnings(written, array_values(markets) or [])
    return VolumesWritten(written, warnings, outcome.version_before(sku_code), version)


def write_resting_volumes(
    conn: Connection,
    company_id: UUID,
    sku_id: UUID,
    rows: Sequence[VolumeRow],
    *,
    origin: Origin,
    now: datetime,
    dry_run: bool,
) -> VolumesWritten | None:
    """Write validated rows of an archived SKU, which stays archived; None where the company has none of the id.

    What was placed is recorded, never refused by law (decisions §13). Raise `Refused` where a row is refused.
    """
    rested = archive.lock_units(conn, sku_id)
    if rested is None:
        return None
    written = _checked_rows(rows, served_markets(conn))
    units = volumes.merged(rested.volumes, _as_patch(written))
    changed = units != rested.volumes
    if changed and not dry_run:
        archive.write_units(conn, company_id, {sku_id: units}, origin=origin, now=now)
    warnings = _market_warnings(written, rested.markets or [])
    return VolumesWritten(written, warnings, rested.version, rested.version + changed)


def patch_of(rows: Sequence[VolumeRow], served: frozenset[str]) -> str:
    """Return validated rows as a patch's text of the column `volumes`; raise `Refused` where any is refused."""
    return _as_patch(_checked_rows(rows, served))


def _as_patch(rows: Sequence[VolumeRow]) -> str:
    units = {volumes.key(row["market"], row["year"], row["half"]): row["units_placed"] for row in rows}
    return orjson.dumps(units, option=orjson.OPT_SORT_KEYS).decode()


def _checked_rows(rows: Sequence[VolumeRow], served: frozenset[str]) -> list[VolumeRow]:
    """Return the rows with the markets that they count for; raise `Refused` with a fault for every refused row."""
    checked: list[VolumeRow] = []
    issues: list[Issue] = []
    first: dict[str, tuple[int, str]] = {}
    for index, row in enumerate(rows):
        market = volumes.market(row["market"], served)
        if market is None:
            sentence = Message(
                "The catalogue does not serve {market}; GET /jurisdictions lists what it serves.",
                market=shown(row["market"]),
            )
            issues.append(Issue("unknown_market", sentence, "market", index))
            continue
        if row["half"] and market != "GB":
            sentence = Message(
                "Halves 1 and 2 are for GB only; send 0, the calendar year, for {market}.", market=market
            )
            issues.append(Issue("out_of_range", sentence, "half", index))
        given = (index, row["market"])
        before = first.setdefault(volumes.key(market, row["year"], row["half"]), given)
        if before != given:
            sentence = _meeting(before, given, market)
            issues += [Issue("duplicate_row", sentence, None, at) for at in (before[0], index)]
        checked.append({**row, "market": market})
    if issues:
        raise Refused(sorted(issues, key=lambda issue: issue.row or 0))
    return checked


def _meeting(before: tuple[int, str], later: tuple[int, str], market: str) -> Message:
    """Return what two rows (place, code) of one market, year and half are told; codes where one is not the market's."""
    if {before[1], later[1]} == {market}:
        return Message(
            "Row {before} is of the same market, year and half as row {row}; send one of them.",
            before=before[0],
            row=later[0],
        )
    return Message(
        "Row {before} ({before_code}) and row {row} ({code}) are of the same market, year and half: a part of a country"
        " that the catalogue does not serve counts as the country. Send one row for {market}.",
        before=before[0],
        before_code=before[1],
        row=later[0],
        code=later[1],
        market=market,
    )


def _market_warnings(rows: Sequence[VolumeRow], markets: Sequence[str]) -> list[Issue]:
    """Return a warning for each row of a market that the SKU does not name, if it names any (decisions §11)."""
    return [
        Issue("market_not_named", Message("The SKU's markets do not name {code}.", code=row["market"]), "market", index)
        for index, row in enumerate(rows)
        if markets and row["units_placed"] is not None and row["market"] not in markets
    ]
