"""Writes the collection for API clients to `build/`; a running service has it at /reference/collection.json.

python -m tools.write_collection
"""

import json
import sys
from pathlib import Path
from typing import Final

from api.app import build_app
from api.reference.collection import collection

_FILE: Final = Path(__file__).parents[1] / "build" / "collection.json"


def main() -> None:
    """Write the file and say where it is."""
    _FILE.parent.mkdir(exist_ok=True)
    _FILE.write_text(json.dumps(collection(build_app().openapi()), indent=2, ensure_ascii=False), encoding="utf-8")
    sys.stdout.write(f"{_FILE}\n")


if __name__ == "__main__":
    main()
