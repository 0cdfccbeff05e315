"""Reads a file: bytes -> table -> columns -> typed values -> rows. Pure functions; no database, no web, no Dagster.

`read_upload` refuses a file that cannot be imported and finds its tables; `type_rows` types every cell and reports
each fault with its line and column. The steps: `encoding` and `delimited` or `workbook` (a grid), `header` (its line:
`header_row`; its columns: `columns`, `units`, `column_values`), `lines` (which are data), `mapping` (the caller's),
`sheet` (the mapped table), `judge` (what is certain), `layouts` (SKUs and components), `published` (`source` and
questions), `cells`, `values`, `numbers` (typed columns), `rows`.
"""
