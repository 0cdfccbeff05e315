"""The contracts of imports: what breaks them."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from pandera.errors import SchemaErrors

from schemas import contracts
from schemas.fields import SKU
from schemas.vocabularies import SUBSTANCES

NUMBERS = ("number", "integer")
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
    pl.String: st.text(max_size=40)
    | st.text(min_size=490, max_size=520)
    | st.none()
    | st.sampled_from(["{FR,DE}", "{", "[]", "{}", "sales", "plastic", "3250390007760", "0", "absent", "required"]),
}


def _known() -> list[str]:
    """The columns that a contract of typed rows knows."""
    known = []
    for name in _COLUMNS:
        try:
            contracts.typed_rows((name,))
        except KeyError:
            continue
        known.append(name)
    return known


KNOWN = _known()
BOUNDED = [name for name in KNOWN if name in SKU and SKU[name].minimum is not None and SKU[name].kind in NUMBERS]


def _kept(schema: object, frame: pl.DataFrame) -> bool:
    try:
        schema.validate(frame, lazy=True)  # type: ignore[attr-defined]
    except SchemaErrors:
        return False
    return True


@given(data=st.data())
def test_a_cell_outside_its_fields_bounds_breaks_the_contract(data: st.DataObject) -> None:
    """Numbers alone: what texts may be, the reader's own tests say."""
    name = data.draw(st.sampled_from(BOUNDED))
    field, schema = SKU[name], contracts.typed_rows((name,))
    dtype = schema.columns[name].dtype.type
    cells = data.draw(st.lists(_ODD[dtype], max_size=4))
    frame = pl.DataFrame({name: pl.Series(cells, dtype=dtype)})
    kept = frame[name].drop_nulls()
    inside = kept.is_between(field.minimum, float("inf") if field.maximum is None else field.maximum).all()
    assert _kept(schema, frame) == bool(inside and (field.nullable or len(kept) == len(cells)))


def test_a_column_too_many_too_few_or_of_another_type_is_no_contract() -> None:
    schema = contracts.parsed_table(("line", "sku_code"))
    whole = pl.DataFrame({"line": [1], "sku_code": ["A"]})
    assert _kept(schema, whole)
    for broken in (whole.drop("line"), whole.with_columns(more=pl.lit("x")), whole.cast({"line": pl.Int32})):
        assert not _kept(schema, broken)
