"""The labels of columns whose header is spread over two lines: merged titles above, or units below.

`Weight` over `Glass | Paper` is `Weight Glass` and `Weight Paper`; `Emballage 1` over `Matière | Poids` likewise; `kg`
below `Weight` is `Weight (kg)`. Which line is the header is `header.py`; what a label means, `columns.py`.
"""

from collections.abc import Sequence

from pipelines.steps.reading.columns import recognise
from pipelines.steps.reading.grid import Grid
from pipelines.steps.reading.units import unit_of
from schemas.words import code_of

Cells = list[str | None]
_UNITS_OF_FIELDS = ("g", "percent", "um", "g/cm3")


def labels(grid: Grid, row: int, keys: Sequence[str]) -> tuple[Cells, int]:
    """The label of each column, and the last line of the header. `row` is the header; `keys` are the fields of a key.

    A second line belongs to the header where it stands right below, says nothing of the keys, and either stands below
    merged titles or holds units only.
    """
    cells = grid.row(row)
    line = int(grid.lines[row])
    if row + 1 < grid.cells.height and int(grid.lines[row + 1]) == line + 1:
        below = grid.row(row + 1)
        if _of_units(cells, below, keys):
            return [_with_unit(cell, unit) for cell, unit in zip(cells, below, strict=True)], line + 1
        if _below_titles(cells, below, keys):
            return _joined(cells, below), line + 1
    if row > 0 and int(grid.lines[row - 1]) == line - 1:
        return _where_better(cells, _joined(grid.row(row - 1), cells)), line
    return cells, line


def _of_units(cells: Cells, below: Cells, keys: Sequence[str]) -> bool:
    """Whether a line holds units, none of them below a key, and nothing else but words of help and dashes."""
    beside = [cell for title, cell in zip(cells, below, strict=True) if cell is not None and not _is_key(title, keys)]
    of_keys = [cell for title, cell in zip(cells, below, strict=True) if cell is not None and _is_key(title, keys)]
    return (
        any(map(_is_unit, beside))
        and all(_is_unit(cell) for cell in beside if not _says_nothing(cell))
        and all(map(_says_nothing, of_keys))
    )


def _says_nothing(cell: str) -> bool:
    return not any(map(str.isalnum, cell)) or code_of(cell, "line") == "help"


def _is_key(title: str | None, keys: Sequence[str]) -> bool:
    column = None if title is None else recognise(title, 0, "sku")
    return column is not None and column.name in keys


def _is_unit(cell: str) -> bool:
    bare = cell.strip().strip("()[]")
    return any(unit_of(bare, field_unit) is not None for field_unit in _UNITS_OF_FIELDS)


def _with_unit(cell: str | None, below: str | None) -> str | None:
    if cell is None or below is None or not _is_unit(below):
        return cell
    unit = below.strip().strip("()[]")
    return f"{cell} ({unit})" if unit != "%" else cell


def _below_titles(cells: Cells, below: Cells, keys: Sequence[str]) -> bool:
    """Whether a line holds the parts of merged titles: words, some where the header is empty, none below a key."""
    for cell, part in zip(cells, below, strict=True):
        if part is not None and (not any(map(str.isalpha, part)) or _is_key(cell, keys)):
            return False
    spread = [part for cell, part in zip(cells, below, strict=True) if cell is None and part is not None]
    return bool(spread) and len(spread) < sum(cell is not None for cell in below) * 2 and cells[0] is not None


def _joined(titles: Cells, parts: Cells) -> Cells:
    """Each part behind the title that reaches over it: the last one to its left that has a part of its own."""
    found: Cells = []
    reaching: str | None = None
    for title, part in zip(titles, parts, strict=True):
        if title is not None:
            reaching = title if part is not None else None
        found.append(title if part is None else part if reaching is None else f"{reaching} {part}")
    return found


def _where_better(cells: Cells, joined: Cells) -> Cells:
    """The joined label only where it is a field and the header alone is none, or names a component of its own."""
    return [_better(cell, label) for cell, label in zip(cells, joined, strict=True)]


def _better(cell: str | None, label: str | None) -> str | None:
    if cell is None or label is None or label == cell:
        return cell
    alone, together = recognise(cell, 0, "sku"), recognise(label, 0, "sku")
    if together is None or (alone is not None and together.group is None):
        return cell
    return label
