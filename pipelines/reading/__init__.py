"""Reads a file: bytes -> table -> columns -> typed values -> rows. Pure functions; no database, no web, no Dagster.

`read_upload` refuses a file that cannot be imported and finds its tables; `type_rows` types every cell and reports
each fault with its line and column. The steps: `container` (which format), `encoding` and `delimited` or `workbook`
(a grid), `header` and `columns` (which field), `sheet` (the mapped table), `decimal_mark`, `values`, `numbers`
(typed columns), `volumes`, `graphs` (JSON text), `rows`.
"""
