"""Reads columns whose headers do not say what they are, by their cells: substances, reuse, ticks.

What a substance's column says in words for a status is its status; where it says yes and no it is whether the substance
is there. `PFAS-free` over yes and no says the contrary, and is asked about with the answer in the file's own words; so
is `Single-use`. A kind of reuse system over yes and no says whether there is one.

The sum of the heavy metals is read from columns of all four in one unit (Article 5(4)). Where one is missing, or a sum
stands beside them, none is made of them. Ticks under markets and materials say which are meant.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Final

import polars as pl

from pipelines.reading.column_values import Searched, has_numbers
from pipelines.reading.columns import is_bare_material, recognise
from pipelines.reading.grammar import PIECES, key_of, measures_in, roles_of_word, tokens_of, without_measures
from pipelines.reading.grid import LONGEST_HEADER, Column, fields_of, letter
from pipelines.reading.placed import is_of_selling, is_served, market_of
from pipelines.reading.questions import question
from pipelines.reading.words import family_of_detail
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import quote
from schemas.words import code_of, fold, words

_STATUS: Final = {"pfas_intentional": "pfas_status", "svhc_declared": "svhc_status", "bpa_present": "bpa_status"}
"""Field of whether a substance is there -> field of its status."""
SUM: Final = "heavy_metals_sum_ppm"
OF_PART: Final = "heavy_metals_value"
"""The same sum of a part, in the unit of the limit."""
_FREE: Final = frozenset({"free", "free of", "frei", "libre", "libre de", "exempt", "exempt de", "vrij", "wolne od"})


_UNITS: Final = frozenset({"ppb", "ppm", "mg", "µg", "%"})
_OF_LIMIT: Final = {"pfas_value": {"ppb"}, "svhc_value": {"%"}, "bpa_value": _UNITS}
"""The units in which a value may be that has none of its own: that of its limit; bisphenol A has none."""


def by_countries(column: Column, header: Searched) -> Column:
    """Return the column of `Tara` as that of markets where its cells name them: Romanian writes the country so, too."""
    if column.table != "sku" or fold(column.header) not in words("tare_or_country"):
        return column
    cells = header.under(column.position).unique()
    if cells.is_empty() or not all(market_of(cell) for cell in cells):
        return column
    return replace(column, name="markets", field=fields_of("sku")["markets"], exact=False)


def with_statuses(columns: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns, those of a substance as its status where their cells are statuses; over numbers none."""
    return [judged for column in columns if (judged := _by_cells(column, header)) is not None]


def _by_cells(column: Column, header: Searched) -> Column | None:
    name = column.field.name
    is_bare = name == "heavy_metals_status" and "stat" not in column.header.casefold()
    if column.exact or column.mapped or column.group or not (is_bare or name in _STATUS):
        return column
    if name in _STATUS and _has_measures(header, column.position):
        return None
    texts = header.under(column.position).unique()
    statuses = sum(code_of(text, "substance_status") is not None for text in texts)
    truths = sum(code_of(text, "truth") is not None for text in texts)
    if is_bare:
        return column if statuses > 0 else None
    return as_status(column) if statuses > truths else column


def as_status(column: Column) -> Column:
    """Return the column of whether a substance is there, or of a sum, as that of its status."""
    name = {**_STATUS, SUM: "heavy_metals_status"}[column.field.name]
    return replace(column, name=column.name.replace(column.field.name, name), field=fields_of(column.table)[name])


def of_substance(column: Column | None, at: int, cell: str, header: Searched) -> Column | None:
    """Return the column of a header that is asked about, or none, as the status or the value of a substance.

    `BPA free` is of its status, and one over numbers is its value, where no unit but that of its limit stands beside.
    """
    known = column or recognise(cell, at, header.table)
    if known is None or known.field.name not in (*_STATUS, SUM):
        return column
    if not _has_measures(header, at):
        return as_status(known) if column is not None and _status_of_yes(column) else column
    if known.field.name == SUM:
        return column
    name = _STATUS[known.field.name].replace("_status", "_value")
    units = {unit for unit in _UNITS if unit in cell.casefold()}
    if not units <= _OF_LIMIT[name]:
        return None
    return replace(known, name=name, field=fields_of(known.table)[name], position=at, open=known.open or cell)


def _has_measures(header: Searched, at: int) -> bool:
    """Return whether the cells below a header are numbers, and not 0 and 1 alone, which are no and yes."""
    return has_numbers(header, at) and not {*header.under(at).unique()} <= {"0", "1"}


def _status_of_yes(column: Column) -> tuple[str, str] | None:
    """Return the statuses that yes and no are below `PFAS-free` and `PFAS < 25 ppb`; None for other headers."""
    said = column.open or ""
    if said.startswith(("<", "≤")):
        return "below_limit", "above_limit"
    return ("absent", "unknown") if said in _FREE else None


def answers_of_absence(column: Column, header: Searched) -> dict[str, str]:
    """Return what the cells below `PFAS-free` mean: yes that the substance is absent, no that its status is unknown.

    Below `< 25 ppb` yes is below the limit and no above it.
    """
    of_yes = _status_of_yes(column)
    if of_yes is None or column.field.vocabulary != "substance_status":
        return {}
    status = dict(zip(("true", "false"), of_yes, strict=True))
    said = ((text, status.get(code_of(text, "truth") or "")) for text in header.under(column.position).unique())
    return {text: code for text, code in sorted(said) if code is not None}


_ALL: Final = 4
_AROUND: Final = frozenset({"share", "nothing", "packaging"})
_PLAIN: Final = r"^\s*[<≤]?\s*\d+(?:[.,]\d+)?\s*$"
"""What was measured, or a bound of it: a sum with a bound is one."""
_PLACES: Final = 9
_ZEROS: Final = "0{1,5}$"
"""Zeros that a sum is written without: with three decimals its mark might be one of thousands."""


def summed_metals(columns: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns of the four metals, each as one of the sum; none where one is missing.

    Beside a sum that is read they are those in its unit, each as one that the sum is compared with.
    """
    if header.table != "sku":
        return []
    own = next((column for column in columns if column.field.name == SUM), None)
    found = _metals(header.free([column.position for column in columns]).items())
    units = {(column.factor, column.per) for of_metal in found.values() for column in of_metal}
    each = [of_metal[0] for of_metal in found.values() if len(of_metal) == 1]
    each = sorted((c for c in each if _are_measured(header, c.position)), key=lambda column: column.position)
    if own is not None:
        return [column for column in each if (column.factor, column.per) == (own.factor, own.per)]
    return each if len(each) == _ALL and len(units) == 1 else []


def without_compared(ticks: Sequence[Column], columns: Sequence[Column]) -> list[Column]:
    """Return the ticks that tell a field, and not those that a column of the field itself is compared with."""
    places = {tick.position for tick in ticks}
    read = {column.name for column in columns if column.position not in places}
    return [tick for tick in ticks if tick.name not in read]


def _are_measured(header: Searched, at: int) -> bool:
    under = header.under(at)
    return 2 * int(under.str.contains(_PLAIN).sum()) > len(under)


def add_up_metals(body: pl.DataFrame, columns: Sequence[Column]) -> pl.Series:
    """Return the sums of the cells of lines as texts; where one is no number, all of them, which are none together.

    With a bound in a cell, `<1`, the sum is below that of all figures.
    """
    cells = [pl.col(f"c{column.position}") for column in columns]
    number = pl.Decimal(38, _PLACES)
    bare = [cell.str.strip_chars("<≤ \t").str.replace(",", ".", literal=True) for cell in cells]
    parsed = [cell.cast(number, strict=False) for cell in bare]
    total = reduce(add, parsed).cast(pl.String).str.replace(_ZEROS, "")
    are_numbers = pl.all_horizontal(cell.str.contains(_PLAIN).fill_null(value=False) for cell in cells)
    has_comma = pl.any_horizontal(cell.str.contains(",", literal=True).fill_null(value=False) for cell in cells)
    below = pl.any_horizontal(cell.str.contains("[<≤]").fill_null(value=False) for cell in cells)
    text = pl.when(has_comma).then(total.str.replace(".", ",", literal=True)).otherwise(total)
    text = pl.when(below).then("<" + text).otherwise(text)
    listed = pl.concat_str([cell.fill_null("?") for cell in cells], separator=" + ")
    given = pl.any_horizontal(cell.is_not_null() for cell in cells)
    return body.select(pl.when(are_numbers).then(text).when(given).then(listed).alias(SUM)).to_series()


_ROUNDED: Final = 1.02
"""How much more single metals may be than their sum, which is rounded."""


def _compared(sums: pl.Series, body: pl.DataFrame, metals: Sequence[Column]) -> pl.Series:
    """Return the sums of lines, and in place of one that is less than its metals both, which are no number."""
    cells = body.select(f"c{column.position}" for column in metals)
    figures = (text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False) for text in (sums, *cells))
    stated, *each = figures
    less = (stated * _ROUNDED < pl.DataFrame(each).sum_horizontal()).fill_null(value=False)
    both = sums + " < " + cells.select(pl.concat_str(pl.all().fill_null("?"), separator=" + ")).to_series()
    return both.set(~less, None).fill_null(sums).alias(SUM)


def metals_asked(
    ignored: Iterable[tuple[int, str]],
    columns: Sequence[Column],
    samples: Mapping[int, Sequence[str]],
    sheet: str | None,
) -> tuple[set[int], Asked] | None:
    """Return the ignored columns of single metals over figures, and the question about them; None without any."""
    if any(column.field.name in (SUM, OF_PART) for column in columns):
        return None
    name = SUM if any(column.table == "sku" for column in columns) else OF_PART
    measured = ((at, header) for at, header in ignored if any(map(str.isdigit, "".join(samples.get(at, ())))))
    found = [column for of_metal in _metals(measured).values() for column in of_metal]
    if not found:
        return None
    headers = ", ".join(quote(column.header) for column in found)
    message = Message(
        "{headers} are of single heavy metals, and the field is of the sum of lead, cadmium, mercury and hexavalent "
        "chromium (Article 5(4)); they are not read. Send columns of all four in one unit, or one of their sum. If "
        "{header} is the sum, say so: mapping={mapping}.",
        headers=headers,
        header=quote(found[0].header),
        mapping={"columns": {name: letter(found[0].position)}},
    )
    of_parts = name == OF_PART
    about = question("column", message, could_be=[name], sheet=sheet, text=headers, of_components=of_parts)
    return {column.position for column in found}, about


def _metals(headers: Iterable[tuple[int, str]]) -> Mapping[str, list[Column]]:
    """Return the columns whose headers name one metal and at most a unit of it."""
    field, found = fields_of("sku")[SUM], dict[str, list[Column]]()
    for at, header in headers:
        if len(header) >= LONGEST_HEADER or (metal := _metal_of(header)) is None:
            continue
        column = Column(SUM, field, "sku", at, header)
        measures = [measure for measure in measures_in(header) if measure.unit != PIECES]
        if all((measure.unit, measure.state) == (field.unit, "known") for measure in measures) and len(measures) < 2:
            for measure in measures:
                column = replace(column, factor=measure.factor, per=measure.per, has_unit=True)
            found.setdefault(metal, []).append(column)
    return found


def _metal_of(header: str) -> str | None:
    left, _ = without_measures(tokens_of(header))
    named = [word for word in left if not (roles_of_word(word) or frozenset({""})) <= _AROUND]
    return words("heavy_metal").get(key_of(named))


_REUSABLE: Final = "reusable"
_SYSTEM: Final = "reuse_system_type"
_OF_YES: Final = {"true": "false", "false": "true"}


def with_reusable(columns: list[Column], header: Searched) -> list[Column]:
    """Return the columns, the one of a reuse system as whether the packaging is reusable where its cells say so."""
    if header.table != "sku" or any(column.field.name == _REUSABLE for column in columns):
        return columns
    field = fields_of("sku")[_REUSABLE]
    return [
        replace(column, name=_REUSABLE, field=field, exact=False)
        if column.field.name == _SYSTEM and not column.mapped and _are_answers(column, header)
        else column
        for column in columns
    ]


def of_single_use(column: Column | None, at: int, cell: str, header: Searched) -> Column | None:
    """Return the column of a header that is a word for no reuse, open by that word; else the column as it is."""
    name = _denied(cell)
    if name is None or header.table != "sku":
        return column
    single = Column(_REUSABLE, fields_of("sku")[_REUSABLE], "sku", at, cell, open=name)
    return single if _are_answers(single, header) else column


def answers_of_single_use(column: Column, header: Searched) -> dict[str, str]:
    """Return what the cells below `Single-use` mean: yes that the packaging is not reusable, no that it is."""
    if column.field.name != _REUSABLE or column.open is None or _denied(column.header) is None:
        return {}
    said = ((text, _OF_YES.get(code_of(text, "truth") or "")) for text in header.under(column.position).unique())
    return {text: code for text, code in sorted(said) if code is not None}


def _denied(cell: str) -> str | None:
    """Return the words of a header that means no reuse: `Einweg (j/n)`, `Non-reusable`; None for another one."""
    answers, tokens = words("truth"), fold(cell).split()
    while tokens and tokens[-1] in answers:
        tokens.pop()
    name = " ".join(tokens)
    return name if words(_REUSABLE).get(name) == "false" else None


def _are_answers(column: Column, header: Searched) -> bool:
    texts: Sequence[str] = header.under(column.position).unique().to_list()
    return bool(texts) and all(code_of(text, "truth") is not None for text in texts)


_TICK: Final = r"^\s*[01]\s*$"
_FIGURE: Final = r"[2-9]|\d."
_FEWEST: Final = 2
"""Columns of materials that are ticked."""


def with_ticked(
    columns: list[Column], header: Searched, reads: Callable[[Column], bool]
) -> tuple[list[Column], tuple[Column, ...]]:
    """Return the columns with those that ticks or single heavy metals tell together, and the columns of these."""
    columns, of_markets = _with_ticked_markets(columns, header, reads)
    columns, of_materials = _with_ticked_materials(columns, header, reads)
    metals = [column for column in summed_metals(columns, header) if reads(column)]
    tells = not any(column.field.name == SUM for column in columns)
    return [*columns, *(metals[:1] if tells else ())], (*of_markets, *of_materials, *metals)


def _with_ticked_materials(
    columns: list[Column], header: Searched, reads: Callable[[Column], bool]
) -> tuple[list[Column], tuple[Column, ...]]:
    """Return the columns with that of the material that ticks tell, where none is, and the columns of ticks.

    `Glass | Plastic | Paper` stand over `x` and empty cells, or over 1 and 0 alone. Two ticked materials of one line
    are two materials, as in a cell.
    """
    field = fields_of(header.table).get("material")
    bare = [column for column in columns if is_bare_material(column)]
    others = [column.position for column in columns if column not in bare]
    if field is None or any(c.field.name == "material" for c in columns) or header.table != "sku":
        return columns, ()
    free = header.free(others).items()  # `Type 1` may be a code of a material, and anything else
    named = {at: cell for at, cell in free if family_of_detail(cell) is not None and not re.search(r"\d", cell)}
    is_ticked = {at: _are_ticks(header.under(at)) for at in named}
    ticks = [
        Column(field.name, field, "sku", at, cell, market=_material_of(cell))
        for at, cell in named.items()
        if is_ticked[at] or all(map(_is_no_tick, header.under(at)))
    ]
    if len(ticks) < _FEWEST or not any(is_ticked.values()) or not all(map(reads, ticks)):
        return columns, ()
    ticked = {column.position for column in ticks}
    return [*(c for c in columns if c.position not in ticked), replace(ticks[0], market=None)], tuple(ticks)


def _material_of(header: str) -> str:
    """Return the material of a header as a cell names it: `Glass` below a title is `Material Glass`."""
    last = header.rsplit(maxsplit=1)[-1]
    return last if family_of_detail(last) == family_of_detail(header) else header


def _is_no_tick(cell: str) -> bool:
    return _meaning_of_tick(cell) not in (None, "true")


def _with_ticked_markets(
    columns: list[Column], header: Searched, reads: Callable[[Column], bool]
) -> tuple[list[Column], tuple[Column, ...]]:
    """Return the columns with that of the markets in which ticks say that an item is sold, and the columns of ticks.

    `DE | FR | AT` stand over `x` and empty cells. Each is of a market, or of several at once (`EU`) as its header names
    them; two at least name markets of the catalogue. A table with a column of markets has none, nor do ticks under a
    title that says something else, such as `Registered`.
    """
    field = fields_of("sku")["markets"]
    ticks: list[Column] = []
    has_figures = False
    for at, cell in header.free([column.position for column in columns]).items() if header.table == "sku" else ():
        market = cell if words("market_group").get(fold(cell)) else market_of(cell)
        if market is not None and _are_ticks(header.under(at)):
            ticks.append(Column(field.name, field, "sku", at, cell, market=market))
        has_figures |= market is not None and header.under(at).str.contains(_FIGURE).any()
    if has_figures:  # beside units of a market, 1 and 0 are units too
        ticks = [column for column in ticks if not header.under(column.position).str.contains(r"\d").any()]
    is_given = any(column.field == field for column in columns) or not all(map(reads, ticks))
    first, last = (ticks[0].position, ticks[-1].position) if ticks else (0, 0)
    start = max((column.position + 1 for column in columns if column.position < first), default=0)
    titles = header.grid.row(header.at - 1)[start : last + 1] if header.at > 0 else []
    is_given |= not all(is_of_selling(tokens_of(title)) for title in titles if title is not None)
    if is_given or sum(is_served(str(column.market)) for column in ticks) < 2:
        return columns, ()
    return [*columns, replace(ticks[0], market=None)], tuple(ticks)


def _meaning_of_tick(cell: str) -> str | None:
    return code_of(cell, "truth") or code_of(cell, "no_answer")


def _are_ticks(cells: pl.Series) -> bool:
    """Return whether most cells are ticks, yes or no, one a tick at least; figures are none but 1 and 0 alone."""
    figures = cells.str.contains(r"\d") & ~cells.str.contains(_TICK)
    said = [None if figures.any() and any(map(str.isdigit, cell)) else _meaning_of_tick(cell) for cell in cells]
    return "true" in said and 2 * said.count(None) <= len(said)


_SEPARATORS: Final = {"markets": ";", "material": " / "}
"""What stands between several ticks of a line, as between the names in a cell."""


def with_ticks(
    cells: pl.DataFrame, body: pl.DataFrame, columns: Sequence[Column], ticks: Sequence[Column]
) -> pl.DataFrame:
    """Return the cells with what is ticked or summed in each line; what is no tick is no market or material either."""
    if metals := [column for column in ticks if column.name == SUM]:
        tells = without_compared(metals, columns)
        cells = cells.with_columns(add_up_metals(body, metals) if tells else _compared(cells[SUM], body, metals))
    for field in dict.fromkeys(column.name for column in ticks if column.name != SUM):
        listed = []
        for column in (column for column in ticks if column.name == field):
            texts = body[f"c{column.position}"]
            distinct = texts.drop_nulls().unique()
            kinds = [_meaning_of_tick(text) or text for text in distinct]
            own = {"true": column.market, **dict.fromkeys(("false", "nothing", "nothing_found"))}
            meant = [own.get(kind, kind) for kind in kinds]
            named = texts.replace_strict(distinct, meant, default=None, return_dtype=pl.String)
            listed.append(named.alias(f"c{column.position}"))
        together = (
            pl.concat_str(pl.all(), separator=_SEPARATORS[field], ignore_nulls=True).replace("", None).alias(field)
        )
        cells = cells.with_columns(pl.DataFrame(listed).select(together).to_series())
    return cells
