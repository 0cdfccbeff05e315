"""Makes the workbook to fill in: both sheets of an import with headers, drop-downs, comments and a skipped example.

All its texts come from the field tables and the words beside them (`schemas`), so that the reader knows each header and
each word. `columns` decides the contents of the sheets, `workbook` writes them.
"""

from pipelines.imports.template.workbook import template

__all__ = ["template"]
