"""A workbook whose sheets are tables of items: lines of another form are brought together first (`items.py`)."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from pipelines.reading.grid import TEXT, Column, Grid, fields_of, repeated
from pipelines.reading.items import Form, form_of, with_items
from pipelines.reading.workbook.book import SheetPart
from pipelines.reading.workbook.cells import Workbook


class Book(Workbook):
    """An opened workbook, as `Workbook`, whose tables have a line for each item or part."""

    @cached_property
    def _forms(self) -> dict[str, Form | None]:
        return {}

    def top(self, sheet: SheetPart, rows: int) -> Grid:
        """Read the first rows; the attributes of all lines of a sheet that has them in rows."""
        top = super().top(sheet, rows)
        form = self._forms[sheet.path] = form_of(top)
        if form is None:
            return top
        if form.kind == "levels":
            return with_items(top, form)
        whole = self._with_items(sheet, form, ())
        return replace(whole, cells=whole.cells.head(rows), lines=whole.lines.head(rows), kinds=None)

    def body(self, sheet: SheetPart, columns: Iterable[Column]) -> Grid:
        """Read all rows, with the cells of these columns and of the first one only."""
        form = self._forms.get(sheet.path)
        if form is None:
            return super().body(sheet, columns)
        grid = self._with_items(sheet, form, columns)
        lacking = {f"c{c.position}" for c in columns} - set(grid.cells.columns)
        empty = [repeated(None, grid.cells.height, grid.cells.dtypes[0]).alias(name) for name in sorted(lacking)]
        plain = (
            [repeated(TEXT, grid.cells.height, grid.kinds.dtypes[0]).alias(name) for name in sorted(lacking)]
            if grid.kinds is not None
            else []
        )
        kinds = None if grid.kinds is None else grid.kinds.with_columns(plain)
        return replace(grid, cells=grid.cells.with_columns(empty), kinds=kinds)

    def _with_items(self, sheet: SheetPart, form: Form, columns: Iterable[Column]) -> Grid:
        fields = fields_of("sku")
        texts = [Column("name", fields["name"], "sku", at, "") for at in form.of_texts]
        values = [Column("weight_grams", fields["weight_grams"], "sku", form.value, "")] if form.value >= 0 else []
        own = [c for c in columns if c.position < form.width and c.position not in form.of_texts]
        return with_items(super().body(sheet, [*own, *texts, *values]), form)
