"""Makes a file of an import's rejected rows, with reasons, for its sender to correct and send back.

`tables` picks the rows out of the file that was sent, `edits` changes their cells, `files` writes them as CSV or as a
workbook. They are pure
functions of the file's bytes and of the service's answers about it; the caller requests those.
"""

from pipelines.corrections.edits import Edit, RejectedRow
from pipelines.corrections.files import as_csv, as_workbook
from pipelines.corrections.tables import Table, rejected_tables

__all__ = ["Edit", "RejectedRow", "Table", "as_csv", "as_workbook", "rejected_tables"]
