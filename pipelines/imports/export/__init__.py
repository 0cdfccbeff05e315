"""Exports a company's portfolio as a workbook that an import reads back without a change.

`cells` turns a stored SKU into cells; `workbook` writes them row by row, whatever the size of the portfolio.
"""

from pipelines.imports.export.workbook import Exported, export

__all__ = ["Exported", "export"]
