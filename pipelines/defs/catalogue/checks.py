"""Checks how many companies are still graded by older rules, the one check of group reference outside a file contract.

The catalogue's checks are in `pipelines.engine.checks`.
"""

from typing import Final, TypedDict

import dagster as dg

_NAME: Final = "no_company_held_by_older_rules"
OLDER_RULES: Final = dg.AssetCheckSpec(
    _NAME,
    asset="rule_set",
    description="Every company is graded by this version; a warning says how many are still to be regraded.",
)


class Verdict(TypedDict):
    """The arguments that a check result and a check evaluation share."""

    check_name: str
    passed: bool
    severity: dg.AssetCheckSeverity
    metadata: dict[str, int | str]


def older_rules_verdict(companies: int, version: str) -> Verdict:
    """Return the verdict as arguments of a check result or evaluation; a warning, because a regrade follows."""
    return {
        "check_name": _NAME,
        "passed": companies == 0,
        "severity": dg.AssetCheckSeverity.WARN,
        "metadata": {"companies_held_by_older_rules": companies, "version": version},
    }
