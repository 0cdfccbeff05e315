"""Answers about a whole portfolio: queries by DuckDB over one company's snapshot.

    reader.py     a connection that can open the files of one snapshot and nothing else
    now.py        what answers need besides: the day, the catalogue, how far the company has written on
    findings.py   when a SKU has a finding (`compliance.readiness` says what it means)
    overview.py   the portfolio by grade, DoC status, flags, markets, level; tonnes; jurisdictions in scope
    readiness.py  what the records show for one market
    market.py     one market's tonnes by category, what they oblige to, which packaging its duties reach
    missing.py    what is missing, the worst first
    one.py        what is missing in one SKU as it stands now
    asked.py      what the grades of a page of SKUs ask for
    imports.py    which imports wrote the portfolio
    items.py      a page of SKUs, found by text, grade, gap, market

Every answer has `as_of`, the instant that it is of, and `newer_writes`, how many write transactions came since. The
functions take the snapshot (`warehouse.snapshots.current`) and `Now`; they read no row of Postgres themselves, but for
`missing_in_one` and `with_asked`.
"""

from warehouse.analytics.asked import questions, with_asked
from warehouse.analytics.imports import imports
from warehouse.analytics.items import Wanted, items
from warehouse.analytics.market import covered, figures_in
from warehouse.analytics.missing import missing
from warehouse.analytics.now import Now
from warehouse.analytics.one import missing_in_one
from warehouse.analytics.overview import overview
from warehouse.analytics.readiness import readiness

__all__ = [
    "Now",
    "Wanted",
    "covered",
    "figures_in",
    "imports",
    "items",
    "missing",
    "missing_in_one",
    "overview",
    "questions",
    "readiness",
    "with_asked",
]
