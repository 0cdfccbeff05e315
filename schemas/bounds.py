"""Limits on one request body: components of a SKU, JSON values of a record, and faults that an answer lists.

The limits are released (docs/api.md): they may grow, never shrink. `api.http.requests` limits a body's bytes.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from schemas.issues import Issue, more
from schemas.messages import Message

MAX_COMPONENTS: Final = 500
"""Lines of one SKU's component graph, however it is sent."""

MAX_VALUES: Final = 100_000
"""JSON values in one record or array of rows: several times what 500 components or 10 000 volume rows need."""

MAX_FAULTS: Final = 100
"""Faults that an answer lists one by one; an import's report lists all."""

TOO_MANY_COMPONENTS: Final = Message("A SKU has at most {most} components.", most=MAX_COMPONENTS)


def first_hundred(issues: Sequence[Issue]) -> list[Issue]:
    """Return the first hundred faults, and an entry with the number of the others."""
    uncounted = [issue for issue in issues if issue.count is None]
    hidden = sum(issue.count or 0 for issue in issues) + max(len(uncounted) - MAX_FAULTS, 0)
    return [*islice(uncounted, MAX_FAULTS), *([more(hidden)] if hidden else [])]
