"""Database, object store, settings, keys, logs and backup: what every program of the service stands on."""
