"""Writes bytes to files: every file of a declaration is complete before one of them takes its name."""

from collections.abc import Mapping
from pathlib import Path

from warehouse import whole_files


def companion_path(out: Path, kind: str) -> Path:
    """Return `<OUT without extension>.<kind>`, the path of a file that belongs to a declaration (decisions §11)."""
    return out.with_suffix(f".{kind}")


def write(files: Mapping[Path, bytes]) -> None:
    """Write all files; each replaces the file of its name. Raises `OSError`, and then none of them has changed."""
    drafts: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            drafts[path] = whole_files.drafted(path, data)
        for path, draft in drafts.items():
            draft.replace(path)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
