"""Runs migrations on the connection of `warehouse.operate.migrate`, each in its own transaction, never waiting long.

A statement that waits for a lock makes every later reader of that table wait behind it, so it gives up after five
seconds and the migration can be started again. The caller's advisory lock lets one migration run at a time.
"""

from alembic import context

from warehouse.tables import metadata

LIMITS = ("SET lock_timeout = '5s'", "SET statement_timeout = '60s'")


def run() -> None:
    """Run the command that `alembic` was given."""
    connection = context.config.attributes["connection"]
    for limit in LIMITS:
        connection.exec_driver_sql(limit)
    connection.commit()
    context.configure(
        connection=connection,
        target_metadata=metadata,
        transaction_per_migration=True,
        compare_type=True,
        compare_server_default=True,
    )
    with context.begin_transaction():
        context.run_migrations()


run()
