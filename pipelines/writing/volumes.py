"""Merges and renders units placed on the market: one JSON object for each SKU, keys `FR/2026/0` in sorted order.

A patch names the rows that it changes; a null clears a row; rows that it does not name stay. `volume_rows` writes
volumes by themselves, `reading.volumes` reads volume columns of a file.
"""

from collections.abc import Set

import orjson

from schemas.normalise import country_of
from schemas.skus.types import VolumeRow


def market(code: str, served: Set[str]) -> str | None:
    """Return the market that a normalised code counts for; None where neither it nor its country is served."""
    return next((known for known in (code, country_of(code)) if known in served), None)


def key(market: str, year: int, half: int) -> str:
    """Return the key of a row."""
    return f"{market}/{year}/{half}"


def merged(stored: str | None, patch: str | None) -> str | None:
    """Return the stored rows with those of the patch in their place; None where no row is left."""
    if patch is None:
        return None
    rows = (orjson.loads(stored) if stored else {}) | orjson.loads(patch)
    if None in rows.values():
        rows = {key: units for key, units in rows.items() if units is not None}
    return orjson.dumps(rows, option=orjson.OPT_SORT_KEYS).decode() if rows else None


def published(stored: str | None) -> list[VolumeRow]:
    """Return the rows as reads return them, by market, year and half."""
    return [
        {"market": market, "year": int(year), "half": int(half), "units_placed": units}
        for key, units in sorted(orjson.loads(stored or "{}").items())
        for market, year, half in [key.split("/")]
    ]
