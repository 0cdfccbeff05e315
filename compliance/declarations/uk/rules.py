"""The published error rules, held against finished rows before a file is written.

Nothing is composed here: each rule looks at a row as the regulator's validator would. A combination that no row of
`combinations.csv` has is named by the error number of the reason nearest to it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import polars as pl

from compliance.declarations.uk.producer import FileRefused, Producer
from compliance.declarations.uk.tables import Period, codes, combinations

_PLASTIC: Final = "PL"
_OTHER: Final = "OT"
_DRINKS: Final = frozenset({"HDC", "NDC"})
_SHAPES: Final = frozenset({"Rigid", "Flexible"})
_PLASTICS: Final = frozenset({"plastic", "hdpe", "pet"})
_NOT_IN_A_NAME: Final = frozenset("0123456789,")
_IDENTITY: Final = ("packaging_type", "packaging_class", "packaging_material", "packaging_material_subtype",
                    "ram_rag_rating")  # fmt: skip
_NAMED: Final = 5

Row = Mapping[str, str]


def hold(rows: Iterable[Row], producer: Producer, period: Period, uncounted: pl.DataFrame | None = None) -> None:
    """Raise `FileRefused` with the error numbers that a file of these rows would be refused with.

    Where SKUs are not counted, the sentence names the first of them with what each lacks.
    """
    table = list(rows)
    numbers = {number for row in table for number in _faults(row, producer, period)}
    if len({tuple(row[column] for column in _IDENTITY) for row in table}) < len(table):
        numbers.add("40")
    if not table:
        numbers.add("82")
    if numbers:
        raise FileRefused(sorted(numbers, key=int), _left_out(uncounted), uncounted)


def _left_out(uncounted: pl.DataFrame | None) -> str:
    if uncounted is None or uncounted.is_empty():
        return ""
    named = ", ".join(
        f"{code} ({reason})" for code, reason in uncounted.select("sku_code", "reason").head(_NAMED).rows()
    )
    more = f" and {uncounted.height - _NAMED} more" if uncounted.height > _NAMED else ""
    return f"Not counted: {named}{more}."


def _faults(row: Row, producer: Producer, period: Period) -> Iterator[str]:
    """The error numbers of one row."""
    kind, material, rating = row["packaging_type"], row["packaging_material"], row["ram_rag_rating"]
    allowed = combinations(producer.organisation_size, marketplace=producer.is_marketplace)
    combination = allowed.get((kind, row["packaging_class"]))
    if material not in codes("packaging_material"):
        yield "05"
    if combination is None:
        yield _of_combination(kind, producer)
    elif not combination.takes(material):
        yield "37"
    yield from _of_numbers(row, kind)
    shape_asked = combination is not None and combination.plastic_subtype
    yield from _of_subtype(material, row["packaging_material_subtype"], producer, shape_asked=shape_asked)
    rating_asked = combination is not None and combination.asks_rating(material) and period.rating != "never"
    if rating and not rating_asked:
        yield "109" if producer.is_large else "106"
    if (rating and rating not in codes("ram_rag_rating")) or (
        rating_asked and period.rating == "mandatory" and not rating
    ):
        yield "100"


def _of_combination(kind: str, producer: Producer) -> str:
    if kind in _DRINKS and any(each == kind for each, _ in _pairs(producer)):
        return "908"
    if not producer.is_large:
        return "903"
    return "23" if producer.is_marketplace else "03"


def _pairs(producer: Producer) -> Iterable[tuple[str, str]]:
    return combinations(producer.organisation_size, marketplace=producer.is_marketplace)


def _of_numbers(row: Row, kind: str) -> Iterator[str]:
    if not _is_count(row["packaging_material_weight"]):
        yield "09"
    units = row["packaging_material_units"]
    if kind in _DRINKS and not _is_count(units):
        yield "38"
    if kind not in _DRINKS and units:
        yield "39"


def _of_subtype(material: str, subtype: str, producer: Producer, *, shape_asked: bool) -> Iterator[str]:
    if material == _OTHER:
        if not subtype or _NOT_IN_A_NAME & set(subtype):
            yield "45"
        if subtype.lower() in _PLASTICS:
            yield "51"
    elif material == _PLASTIC and shape_asked:
        if subtype not in _SHAPES:
            yield "101"
    elif subtype:
        yield "105" if material == _PLASTIC and not producer.is_large else "47"


def _is_count(text: str) -> bool:
    """Whether it is a whole number above 0, without sign, leading zero or separator."""
    return text.isascii() and text.isdecimal() and not text.startswith("0")
