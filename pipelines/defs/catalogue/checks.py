"""The check of group reference that is no part of a file's contract: what is still held by older rules.

The catalogue's checks are `pipelines.engine.checks`.
"""

from typing import Any, Final

import dagster as dg

_NAME: Final = "no_company_held_by_older_rules"
HELD_BY_OLDER_RULES: Final = dg.AssetCheckSpec(
    _NAME,
    asset="rule_set",
    description="Every company is graded by this version; a warning says how many are still to be regraded.",
)


def held_by_older_rules(companies: int, version: str) -> dict[str, Any]:
    """The verdict, as what a check's result and a check's evaluation take; a warning, since a regrade is on its way."""
    return {
        "check_name": _NAME,
        "passed": companies == 0,
        "severity": dg.AssetCheckSeverity.WARN,
        "metadata": {"companies_held_by_older_rules": companies, "version": version},
    }
