"""Adds a plan's storage quota, and marks dry runs whose uploads were removed to make room (decisions §12)."""

from alembic import op

revision = "0023"
down_revision = "0022"

_GIGABYTE = 10**9
_BYTES = {
    "starter": _GIGABYTE,
    "growth": 10 * _GIGABYTE,
    "professional": 100 * _GIGABYTE,
    "enterprise": 1000 * _GIGABYTE,
}


def upgrade() -> None:
    """Give each plan its quota; an operator changes it in the table, null is none."""
    op.execute("ALTER TABLE plans ADD COLUMN storage_bytes BIGINT")
    op.execute(
        "COMMENT ON COLUMN plans.storage_bytes IS 'technical files and uploads that the plan stores; null is no limit'"
    )
    for plan, size in _BYTES.items():
        op.execute(f"UPDATE plans SET storage_bytes = {size} WHERE plan = '{plan}'")
    op.execute("ALTER TABLE imports ADD COLUMN upload_removed_at TIMESTAMP WITH TIME ZONE")
    op.execute("COMMENT ON COLUMN imports.upload_removed_at IS 'of a dry run whose upload made room for another file'")


def downgrade() -> None:
    """Drop the quotas; a removed upload is not restored."""
    op.execute("ALTER TABLE plans DROP COLUMN storage_bytes")
    op.execute("ALTER TABLE imports DROP COLUMN upload_removed_at")
