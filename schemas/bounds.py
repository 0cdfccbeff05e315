"""How much one body may ask of the service: components of a SKU, values of a record, faults that an answer lists.

Released limits (docs/api.md): they may grow, and never shrink. A body's bytes are the door's to bound (`api.bodies`).
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from schemas.issues import Issue, more

MAX_COMPONENTS: Final = 500
"""Lines of one SKU's component graph, by every road."""

MAX_VALUES: Final = 100_000
"""JSON values in one record or array of rows: several times what 500 components or 10 000 volume rows can hold."""

MAX_FAULTS: Final = 100
"""Faults that an answer lists one by one; an import's report lists all."""

TOO_MANY_COMPONENTS: Final = f"A SKU has at most {MAX_COMPONENTS} components."


def too_large(body: object) -> Issue | None:
    """The fault of a parsed body with more values than are looked at; it stops counting there."""
    waiting: list[Any] = [body]
    seen = 0
    while waiting:
        value = waiting.pop()
        held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        seen += len(held)
        if seen > MAX_VALUES:
            return Issue("out_of_range", f"At most {MAX_VALUES} values are taken in one record.")
        waiting.extend(part for part in held if isinstance(part, dict | list))
    return None


def listed(issues: Sequence[Issue]) -> list[Issue]:
    """The first hundred faults, and an entry that says how many more there are."""
    found = [issue for issue in issues if issue.count is None]
    hidden = sum(issue.count or 0 for issue in issues) + max(len(found) - MAX_FAULTS, 0)
    return [*islice(found, MAX_FAULTS), *([more(hidden)] if hidden else [])]
