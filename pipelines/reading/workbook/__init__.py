"""Excel workbooks (.xlsx) -> grids of the text that their cells show. Nothing here knows what a SKU is.

The way: `package` (the zip, with bounds), `book` (its sheets), `cells` and `strings`, `styles` (what a number cell
shows), `hidden` (what people do not see), `sheets` (grids).
"""

from pipelines.reading.workbook.book import SheetPart
from pipelines.reading.workbook.sheets import Workbook

__all__ = ["SheetPart", "Workbook"]
