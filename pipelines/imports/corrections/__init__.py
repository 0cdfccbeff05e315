"""An import's rejected rows as a file that its sender can correct and send back: the caller's own cells, with reasons.

`tables` picks the rows out of the file that was sent; `files` writes them as CSV or as a workbook. Pure functions of
the file's bytes and of what the service has answered about it; asking the service is the caller's.
"""

from pipelines.imports.corrections.files import as_csv, as_workbook
from pipelines.imports.corrections.tables import Table, rejected_tables

__all__ = ["Table", "as_csv", "as_workbook", "rejected_tables"]
