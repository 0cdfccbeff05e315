"""What an answer writes: the fields, units and rows that the first reading did not give (decisions §13)."""

import polars as pl

from pipelines.imports.process import held_back
from pipelines.reading.rows import ERRORS, TypedRows


def rows(**columns: list[object]) -> TypedRows:
    """Typed rows of SKUs A, B, …; a None is a cell that is not given."""
    codes = [chr(ord("A") + at) for at in range(len(next(iter(columns.values()))))]
    fields = {"sku_code": codes, **columns}
    values = pl.DataFrame({"row": range(len(codes)), "line": range(2, len(codes) + 2), "sheet": None, **fields})
    given = pl.DataFrame({name: [cell is not None for cell in cells] for name, cells in fields.items()})
    return TypedRows(values, given, pl.DataFrame(schema=ERRORS), 0, pl.DataFrame())


def written(typed: TypedRows, before: TypedRows, *rejected: str) -> dict[str, dict[str, object]]:
    """The fields that are written, by SKU."""
    found = held_back(typed, before, rejected)
    assert found.values["row"].to_list() == list(range(found.values.height))
    flags = found.presence.drop("sku_code").to_dicts()
    return {
        value["sku_code"]: {name: value[name] for name, is_given in flag.items() if is_given}
        for value, flag in zip(found.values.to_dicts(), flags, strict=True)
    }


def test_only_fields_that_are_new_or_read_otherwise_are_written() -> None:
    before = rows(name=["a", "b", "c"], gtin=["1", None, "3"])
    after = rows(name=["a", "b", "c"], gtin=["1", "2", "4"], weight_grams=[1.5, None, None])
    assert written(after, before) == {"A": {"weight_grams": 1.5}, "B": {"gtin": "2"}, "C": {"gtin": "4"}}
    assert written(before, before) == {}


def test_a_sku_that_was_rejected_is_written_whole() -> None:
    before = rows(name=["a", "b"])
    assert written(rows(name=["a", "b"]), before, "B") == {"B": {"name": "b"}}
    assert written(rows(name=["a", "b", "c"]), before) == {"C": {"name": "c"}}


def test_of_units_only_those_that_are_new() -> None:
    before = rows(volumes=['{"DE/2026/0":5,"FR/2026/0":7}', None])
    after = rows(volumes=['{"DE/2026/0":5,"FR/2026/0":8,"IT/2026/0":1}', '{"DE/2026/0":2}'])
    assert written(after, before) == {
        "A": {"volumes": '{"FR/2026/0":8,"IT/2026/0":1}'},
        "B": {"volumes": '{"DE/2026/0":2}'},
    }
    assert written(before, before) == {}


def test_a_substance_is_written_with_all_of_its_columns() -> None:
    before = rows(pfas_status=["absent"], svhc_status=["absent"])
    after = rows(pfas_status=["absent"], svhc_status=["absent"], pfas_value=[12.0])
    assert written(after, before) == {"A": {"pfas_status": "absent", "pfas_value": 12.0}}
