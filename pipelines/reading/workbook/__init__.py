"""Reads Excel workbooks (.xlsx) into grids of the text that their cells show. SKUs do not belong here.

The steps: `package` (the zip, with bounds), `book` (its sheets), `cells` and `strings`, `styles` (the text that a
number cell shows), `hidden` (hidden rows and columns), `sheets` (grids).
"""

from pipelines.reading.workbook.book import SheetPart
from pipelines.reading.workbook.sheets import Workbook

__all__ = ["SheetPart", "Workbook"]
