"""A company's portfolio as a workbook in the import's own shape: what is exported can be imported, and changes nothing.

`cells` says how a stored SKU becomes cells; `workbook` writes them, row by row, whatever the size of the portfolio.
"""

from pipelines.imports.export.workbook import Exported, export

__all__ = ["Exported", "export"]
