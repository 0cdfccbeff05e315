"""Notes a probe of each key of the deployment, so that a lost or replaced key is told from the right one."""

from alembic import op

revision = "0051"
down_revision = "0050"


def upgrade() -> None:
    """The probes of the keys in use are noted by `pcds migrate` and `pcds serve`, which have the files."""
    op.execute("CREATE TABLE key_probes (name TEXT PRIMARY KEY, probe BYTEA NOT NULL)")
    op.execute("COMMENT ON TABLE key_probes IS 'derived from each key; tells whether a file is the same, nothing else'")
    op.execute("GRANT SELECT ON key_probes TO pcds_app")


def downgrade() -> None:
    """A wrong key is not noticed any more."""
    op.execute("DROP TABLE key_probes")
