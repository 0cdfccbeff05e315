"""How many examples a property test draws: all that it names, or a quarter of them in `make test`."""

from typing import Any

from hypothesis import settings


def examples(count: int, **others: Any) -> settings:
    """Settings with this many examples under the profiles of all tests; `others` are further settings.

    The profile `quick` draws a quarter of what Hypothesis draws by default, and so a quarter of these too.
    """
    return settings(max_examples=max(1, count * settings.default.max_examples // 100), **others)
