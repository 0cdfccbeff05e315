"""Runs Chromium from the distribution's packages, headless, with an empty profile of its own; it downloads none."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, sync_playwright

MISSING: Final = (
    "no Chromium here, so that no page was seen in a browser: apt-get install chromium-headless-shell (or chromium), "
    "or name one in PCDS_CHROMIUM"
)
"""The reason for skipping browser tests."""
_NAMES: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first draws as the others do and has no window: it takes less than half of their processor time."""
_QUIET: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""With these it makes no request by itself. Without its sandbox it runs as root too, and opens only our own pages."""

_MILLISECONDS_TO_START: Final = 120_000


def found() -> Path | None:
    """Return the program that `PCDS_CHROMIUM` names, else the first on the path; None where there is none."""
    named = os.environ.get("PCDS_CHROMIUM")
    candidates = [named] if named else _NAMES
    paths = [path for path in map(shutil.which, candidates) if path]
    return Path(paths[0]) if paths else None


@contextmanager
def opened(program: Path) -> Iterator[Browser]:
    """Run the browser during the block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*_QUIET], timeout=_MILLISECONDS_TO_START)
        try:
            yield browser
        finally:
            browser.close()
