"""The windows in which a job is done: languages, widths, with and without scripts.

Every job runs in three windows, which have all languages, both widths and both answers on scripts between them; jobs
alternate between two such sets.
"""

from collections.abc import Callable

import pytest

from tests.browser.hand import Hand

Windows = list[tuple[str, int, bool]]
Opens = Callable[..., Hand]
"""Opens a window; with `signed_in=False` that of a stranger."""
ONE: Windows = [("en", 1440, True), ("de", 360, False), ("fr", 360, True)]
OTHER: Windows = [("en", 360, False), ("de", 1440, True), ("fr", 1440, False)]
"""Language, width, and whether scripts run."""


def in_windows(windows: Windows) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("lang", "width", "script"), windows)
