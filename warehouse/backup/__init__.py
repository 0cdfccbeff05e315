"""A backup of the service in one folder, taken while it works, and its return into an empty database.

    tables/         the rows of each table as they were at one instant, as COPY writes them, compressed
    dagster/        the same of Dagster's own tables
    objects/        uploaded files, where they lie on this machine
    connector.key   what seals questions to users
    backup.json     what is in each of them, its SHA-256, and the seal over all of it; written last

A backup is data: nothing of it is run, and its names are only compared with our own (decision 0036). What belongs here:
what is copied, in which order, and how it comes back. What does not: snapshots and figures, which a worker makes anew,
and files in an S3-compatible store, which keeps versions of its own.
"""

from warehouse.backup.check import Checked, check
from warehouse.backup.ended import Ended
from warehouse.backup.folder import BackupError
from warehouse.backup.held import Backup
from warehouse.backup.restore import Restored, restore
from warehouse.backup.seal import find_key
from warehouse.backup.take import back_up

__all__ = ["Backup", "BackupError", "Checked", "Ended", "Restored", "back_up", "check", "find_key", "restore"]
