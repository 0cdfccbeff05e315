"""Takes a backup of the running service into one folder, and restores it into an empty database.

    tables/         the rows of each table as they were at one instant, as COPY writes them, compressed
    dagster/        the same of Dagster's own tables
    objects/        uploaded files, where they are stored on this machine
    connector.key   the key that seals questions to users
    backup.json     the content of each of them, its SHA-256, and the seal over all of it; written last

A backup is data: no part of it is executed, and its names are only compared with our own (decision 0036). What belongs
here: the content of a backup, the order of copying, and the restore. What does not: snapshots and figures, which a
worker makes anew, and files in an S3-compatible store, which keeps its own versions.
"""
