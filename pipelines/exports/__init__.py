"""Exports whole portfolios as files of three tables: CSV, a workbook, or Parquet.

`files` writes the tables part by part; `process` claims an export, writes its file and ends it.
"""

from pipelines.exports.process import Place, export_waiting

__all__ = ["Place", "export_waiting"]
