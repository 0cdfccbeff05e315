"""The keys of a deployment for tests that start no `pcds serve` and no `pcds migrate`, which make them."""

import os

from warehouse.operate import keys, whole_files
from warehouse.operate.settings import Settings


def with_keys(settings: Settings) -> Settings:
    """The same settings, with a key of each kind in their data directory."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    for name in keys.NAMES:
        whole_files.made_once(settings.data_dir / name, os.urandom(32))
    return settings
