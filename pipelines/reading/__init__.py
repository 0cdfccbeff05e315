"""Reads a file: bytes -> table -> columns -> typed values -> rows. Pure functions; no database, no web, no Dagster.

`read_upload` refuses a file that cannot be imported and finds its tables; `type_rows` types every cell and reports
each fault with its line and column. The steps: `text` or `workbook` (a `grid`), `header` (its line and
its columns: `columns`, `units`, `column_values`), `lines` (which are data), `mapping` (the caller's), `sheet` (the
mapped table), `judge` (what is certain), `layouts` (SKUs and components), `published` (`source` and questions),
`cells`, `values` (typed columns), `rows`.
"""
