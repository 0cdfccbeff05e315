"""The contracts of imports: asked in one query, they say what Pandera says column by column."""

import pandera.polars as pa
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandera.errors import SchemaErrors

from schemas import contracts
from schemas.fields import SKU
from schemas.vocabularies import SUBSTANCES

_NAMES = ["row", "line", "sheet", *(name for name in SKU if name not in ("substances", "components"))]
_DERIVED = [
    "volumes",
    "components",
    *(f"{name}_status" for name in SUBSTANCES),
    *(f"{name}_value" for name in SUBSTANCES),
]
_COLUMNS = [*dict.fromkeys([*_NAMES, *_DERIVED])]
_ODD: dict[type[pl.DataType] | pl.DataType, st.SearchStrategy[object]] = {
    pl.Int64: st.integers(-3, 2**53) | st.none(),
    pl.Float64: st.floats() | st.none(),
    pl.Boolean: st.booleans() | st.none(),
    pl.String: st.text(max_size=40) | st.text(min_size=490, max_size=520) | st.none()
    | st.sampled_from(["{FR,DE}", "{", "[]", "{}", "sales", "plastic", "3250390007760", "0", "absent", "required"]),
}  # fmt: skip


def _known() -> list[str]:
    """The columns that a contract of typed rows knows."""
    known = []
    for name in _COLUMNS:
        try:
            contracts.typed_rows([name])
        except KeyError:
            continue
        known.append(name)
    return known


KNOWN = _known()


def _kept(schema: object, frame: pl.DataFrame) -> bool:
    try:
        schema.validate(frame, lazy=True)  # type: ignore[attr-defined]
    except SchemaErrors:
        return False
    return True


@given(data=st.data())
def test_one_query_says_what_pandera_says(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(KNOWN))
    schema = contracts.typed_rows([name])
    dtype = schema.columns[name].dtype.type
    cells = data.draw(st.lists(_ODD[dtype], max_size=4))
    frame = pl.DataFrame({name: pl.Series(cells, dtype=dtype)})
    assert contracts.certain(schema, frame) == _kept(schema, frame)


@pytest.mark.parametrize("name", KNOWN)
def test_every_rule_of_a_contract_is_known_to_the_one_query(name: str) -> None:
    """Else each import with such a column would be asked rule by rule."""
    schema = contracts.typed_rows([name])
    frame = pl.DataFrame(schema={name: schema.columns[name].dtype.type})
    assert contracts.certain(schema, frame)


def test_a_column_too_many_too_few_or_of_another_type_is_no_contract() -> None:
    schema = contracts.parsed_table(["line", "sku_code"])
    whole = pl.DataFrame({"line": [1], "sku_code": ["A"]})
    assert contracts.certain(schema, whole)
    for broken in (whole.drop("line"), whole.with_columns(more=pl.lit("x")), whole.cast({"line": pl.Int32})):
        assert not contracts.certain(schema, broken)
        assert not _kept(schema, broken)


@pytest.mark.parametrize(
    "schema",
    [
        pa.DataFrameSchema({"name": pa.Column(pl.String)}, unique=["name"]),
        pa.DataFrameSchema({"name": pa.Column(pl.String, pa.Check.str_length(min_value=3))}),
        pa.DataFrameSchema({"name": pa.Column(pl.String, pa.Check.str_endswith("b"))}),
    ],
    ids=["of whole rows", "without an upper bound", "of another kind"],
)
def test_what_the_one_query_does_not_know_is_left_to_pandera(schema: pa.DataFrameSchema) -> None:
    broken = pl.DataFrame({"name": ["a", "a"]})
    assert not contracts.certain(schema, broken)
    assert not _kept(schema, broken)
