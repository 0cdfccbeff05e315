"""Excel workbooks (.xlsx) -> grids: `package` (the zip, with bounds), `book` (its sheets), `cells`, `strings`,
`styles` (what cells show), `sheets` (grids of text). Nothing here knows what a SKU is.
"""

from pipelines.steps.reading.workbook.book import SheetPart
from pipelines.steps.reading.workbook.sheets import Workbook

__all__ = ["SheetPart", "Workbook"]
