"""Checks the catalogue, the rule-set and the grades by it: their contracts, and what a catalogue has to hold."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

import dagster as dg
import polars as pl

from compliance.catalogue import EU_MEMBER_STATES, MONEY, is_iso_3166
from pipelines import catalogue
from pipelines.checks.factory import Check, Frames, Stored, contract_check, verdict
from pipelines.metadata.columns import CATALOGUE
from schemas import contracts
from warehouse import catalogue as catalogue_warehouse
from warehouse import rules as rules_warehouse
from warehouse.skus import portfolio

_Rows: TypeAlias = Mapping[str, Mapping[str, object]]
"""The rows of the catalogue, by code."""
_RULE: Final = ("rule_id", "stream", "parameter", "effect", "source_url", "basis", "confidence")
_GRADES: Final = {
    "recyclability_grade": pl.String(),
    "grade_provisional": pl.Boolean(),
    "ruleset_version": pl.String(),
    "lowest_score": pl.Float64(),
    "highest_score": pl.Float64(),
    "skus": pl.Int64(),
}


def _rules(stored: Stored) -> Frames:
    with stored.pool.system() as conn:
        rules = stored.registry.active(conn).rules.values()
    types = {name: pl.String() for name in _RULE} | {"removed": pl.Float64()}
    rows = [tuple(getattr(rule, name) for name in types) for rule in rules]
    return {"rules": (contracts.made(types, key=["rule_id"], needed=_RULE), pl.DataFrame(rows, types, orient="row"))}


def older_rules(stored: Stored) -> dg.AssetCheckResult:
    """Return how many companies are to be regraded by the active version."""
    with stored.pool.system() as conn:
        version = stored.registry.active(conn).version
    companies = len(rules_warehouse.open_regrades(stored.pool))
    return verdict(companies == 0, {"companies_held_by_older_rules": companies, "version": version})


OLDER_RULES: Final = Check(
    "no_company_held_by_older_rules",
    "Every company is graded by this version; a warning says how many are still to be regraded.",
    older_rules,
    warns=True,
)
RULE_SET: Final = (contract_check(_rules), OLDER_RULES)


def _served(stored: Stored) -> _Rows:
    with stored.pool.system() as conn:
        return catalogue_warehouse.stored(conn)


def _codes(name: str, description: str, wrong: Callable[[_Rows], Iterable[str]]) -> Check:
    """Return a check of the stored catalogue, whatever file it came from; `wrong` returns the codes that fail it."""

    def look(stored: Stored) -> dg.AssetCheckResult:
        rows = _served(stored)
        codes = sorted(wrong(rows))
        return verdict(not codes, {"rows": len(rows), "wrong_codes": ", ".join(codes) or "none"})

    return Check(name, description, look)


def _missing_states(rows: _Rows) -> Iterable[str]:
    states = [code for code, row in rows.items() if row["region"] == "eu" and row["in_catalogue"] and len(code) == 2]
    return [] if len(states) == EU_MEMBER_STATES and "GB" in rows else states


STORED_CATALOGUE: Final = (
    contract_check(lambda stored: {"jurisdictions": (CATALOGUE, catalogue.frame_of(_served(stored)))}),
    _codes(
        "codes_valid",
        "Every code is an ISO 3166 country or subdivision.",
        lambda rows: [code for code in rows if not is_iso_3166(code)],
    ),
    _codes(
        "eu_and_gb_present",
        "All 27 Member States of the Union and the United Kingdom are served.",
        _missing_states,
    ),
    _codes(
        "sources_present",
        "Every row names where it comes from.",
        lambda rows: [code for code, row in rows.items() if not (row["source_url"] or row["source_note"])],
    ),
    _codes(
        "no_amount_of_money",
        "No cell holds a fee or any other amount of money.",
        lambda rows: [code for code, row in rows.items() if MONEY.search(" | ".join(map(str, row.values())))],
    ),
)


def _graded(stored: Stored) -> Frames:
    """Return how many of the company's SKUs have which grade, by whether it is provisional and by rule-set."""
    with stored.pool.company(stored.company) as conn:
        rows = portfolio.grades(conn)
    key = ["recyclability_grade", "grade_provisional", "ruleset_version"]
    contract = contracts.made(_GRADES, key=key, needed=["skus"])
    return {"grades": (contract, pl.DataFrame(rows, _GRADES, orient="row"))}


REGRADED: Final = contract_check(_graded)
