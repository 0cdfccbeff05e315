"""What `pcds serve` makes beside its data, for tests that start none: the keys, and the readers' place."""

import os

from tests import preloaded
from warehouse.operate import keys, whole_files
from warehouse.operate.settings import Settings


def with_keys(settings: Settings) -> Settings:
    """The same settings, with a key of each kind in their data directory, and readers that are forked."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    for name in keys.NAMES:
        whole_files.made_once(settings.data_dir / name, os.urandom(32))
    preloaded.lend_readers(settings)
    return settings
