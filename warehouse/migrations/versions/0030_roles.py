"""The role of each person, which says what the person may do in the pages and through connected applications."""

from pathlib import Path

from alembic import op

revision = "0030"
down_revision = "0029"

_ANSWER_THE_ROLE = {
    "pcds_session": "(bytea, timestamptz, timestamptz)",
    "pcds_admit_connection": "(bytea, text, text, timestamptz)",
}


def upgrade() -> None:
    """Add the column, give each person a role, and make the functions again with it."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    _grant()


def downgrade() -> None:
    """Roles are lost: everybody may do everything again."""
    before = Path(__file__).with_name("0016_accounts.sql").read_text(encoding="utf-8")
    for name, arguments in _ANSWER_THE_ROLE.items():
        op.execute(f"DROP FUNCTION {name}{arguments}")
        start, end = before.index(f"CREATE FUNCTION {name}("), "END $$;"
        op.get_bind().exec_driver_sql(before[start : before.index(end, start) + len(end)])
    _grant()
    op.execute("ALTER TABLE users DROP COLUMN role")


def _grant() -> None:
    for name, arguments in _ANSWER_THE_ROLE.items():
        op.execute(f"REVOKE ALL ON FUNCTION {name}{arguments} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {name}{arguments} TO pcds_app")
