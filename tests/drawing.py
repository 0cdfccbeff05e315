"""How many examples a property test draws: half of those that it names, a quarter in `make test`."""

from typing import Any

from hypothesis import settings


def examples(count: int, **others: Any) -> settings:
    """Settings with this many examples under the profiles of all tests; `others` are further settings.

    A profile draws its part of what Hypothesis draws by default (100), and the same part of these.
    """
    return settings(max_examples=max(1, count * settings.default.max_examples // 100), **others)
