"""Answers questions about a whole portfolio by DuckDB queries over one company's snapshot.

    reader.py     a connection that can open the files of one snapshot and nothing else
    now.py        other inputs: the day, the catalogue, the company's last write
    findings.py   when a SKU has a finding (`compliance.readiness` defines its meaning)
    placed.py     the year whose units stand beside a gap or a market, and these units
    overview.py   the portfolio by grade, DoC status, flags, markets, level; tonnes; jurisdictions in scope
    readiness.py  what the records show for one market
    market.py     one market's tonnes by category, its obligations, and the packaging that its duties cover
    missing.py    what is missing, the worst first
    one.py        what is missing in one SKU at present
    asked.py      facts that the grades of a page of SKUs ask for
    imports.py    which imports wrote the portfolio
    figure_rows.py  a page of the stored figures: tonnes, uncounted SKUs, undecided scopes, verdicts
    found.py      the SKUs that have a gap, a format ban, a design rule or a material
    by_rule.py    every SKU held against one rule: recycled content, bisphenol A, format bans

Every answer has `as_of`, its instant, and `newer_writes`, the number of write transactions since then. The
functions take the snapshot (`warehouse.snapshots.current`) and `Now`; they read no row of Postgres themselves, except
`missing_in_one` and `with_asked`.
"""

from warehouse.analytics.asked import questions, with_asked
from warehouse.analytics.by_rule import by_rule
from warehouse.analytics.figure_rows import figure_rows
from warehouse.analytics.imports import imports
from warehouse.analytics.market import covered_packaging, figures_in, placed_in
from warehouse.analytics.missing import missing
from warehouse.analytics.now import Now
from warehouse.analytics.one import missing_in_one
from warehouse.analytics.overview import overview, tonnes_of_year
from warehouse.analytics.readiness import items_in, readiness

__all__ = [
    "Now",
    "by_rule",
    "covered_packaging",
    "figure_rows",
    "figures_in",
    "imports",
    "items_in",
    "missing",
    "missing_in_one",
    "overview",
    "placed_in",
    "questions",
    "readiness",
    "tonnes_of_year",
    "with_asked",
]
