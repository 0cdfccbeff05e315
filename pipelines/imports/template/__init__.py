"""The workbook to fill in: both sheets of an import with headers, drop-downs, comments and an example that is skipped.

Everything in it is said by the field tables and the words beside them (`schemas`), so that the reader knows each header
and each word. `columns` decides what stands in the sheets, `workbook` how it is written.
"""

from pipelines.imports.template.workbook import template

__all__ = ["template"]
