"""Stores the document and the clients of this release, so that the next one can be held against them.

    python -m tools.record_release

Fails where the document is not additive to the last stored one: that would be /api/v2. Where that last one was never
released, delete its file first.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Final

from api.app import INTERFACE_VERSION, build_app
from tools.additive import breaks
from tools.build_clients import BUILT, DIGEST

RELEASED: Final = Path(__file__).with_name("released")
CLIENTS: Final = RELEASED / "clients"
"""The official clients of the last release, as it served them."""


def last() -> dict[str, Any]:
    """Return the document of the last release, an empty one before the first; versions are compared as numbers."""
    kept = sorted(RELEASED.glob("*.json"), key=lambda path: tuple(map(int, path.stem.split("."))))
    if not kept:
        return {"paths": {}, "components": {"schemas": {}}}
    document: dict[str, Any] = json.loads(kept[-1].read_text(encoding="utf-8"))
    return document


def main() -> None:
    """Write the document under its version."""
    document = build_app().openapi()
    if not_additive := breaks(last(), document):
        sys.exit("\n".join(not_additive))
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (RELEASED / f"{INTERFACE_VERSION}.json").write_text(f"{text}\n", encoding="utf-8")
    shutil.rmtree(CLIENTS, ignore_errors=True)
    shutil.copytree(BUILT, CLIENTS, ignore=shutil.ignore_patterns(DIGEST.name))


if __name__ == "__main__":
    main()
