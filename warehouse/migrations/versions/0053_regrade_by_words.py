"""Asks for the regrade of every company: words of a material's text now give its kind, its colour and a metallisation.

`alias_words.csv` and `polymer_aliases.csv` of the rule-set 2026-11-22 say more than they said when the stored SKUs were
graded (decisions §13). The regrade writes those whose grade changes, each as a version with its entry in the ledger.
"""

from alembic import op

revision = "0053"
down_revision = "0052"

_ASK = """
INSERT INTO regrades (company_id, version, matrix, examples, begun_at)
SELECT company_id, '2026-11-22', '{}', '[]', now() FROM company_counters
WHERE skus > 0
AND coalesce((SELECT version FROM ruleset_activations ORDER BY number DESC LIMIT 1), '2026-11-22') = '2026-11-22'
ON CONFLICT (company_id) DO UPDATE
SET version = excluded.version, position = NULL, skus = 0, changed = 0, matrix = '{}', examples = '[]',
    begun_at = excluded.begun_at, finished_at = NULL
"""


def upgrade() -> None:
    """Nothing is asked for where another rule-set grades. An owner that is no superuser is bound by the policies."""
    op.execute("ALTER TABLE regrades NO FORCE ROW LEVEL SECURITY")
    op.execute(_ASK)
    op.execute("ALTER TABLE regrades FORCE ROW LEVEL SECURITY")


def downgrade() -> None:
    """A regrade that was asked for is done all the same."""
