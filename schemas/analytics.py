"""Types of the answers about a whole portfolio: the overview, and what is missing, the worst first.

They are JSON objects that `warehouse.analytics` makes and that the pages, the tools of assistants and Dagster's assets
show. The list of SKUs and one SKU are in `schemas.sku`, a grade's questions in `schemas.grading`.
"""

from datetime import datetime
from typing import TypedDict

from schemas.grading import MissingFact, OpenFact
from schemas.report import Pagination


class Head(TypedDict):
    """How every answer begins: its instant, and how many write transactions came since."""

    as_of: str
    newer_writes: int


class FindingEntry(TypedDict):
    """A finding as it is published (`compliance.readiness`)."""

    code: str
    kind: str
    sentence: str
    fields: list[str]
    applies_from: str | None
    reference: str | None
    source_url: str | None


class Gap(FindingEntry):
    """A finding that something is not recorded, with the SKUs and units that it touches."""

    skus: int
    units: int


class UnknownText(TypedDict):
    """A material text that no material is known by, with the nearest known words."""

    field: str
    text: str
    nearest: list[str]


class IncompleteSku(TypedDict):
    """A SKU with its gaps; `weight` says how much they stand in its way together."""

    id: str
    sku_code: str
    name: str
    units: int
    weight: int
    gaps: list[FindingEntry]
    not_understood: list[UnknownText]


class Missing(Head):
    """The gaps of a portfolio, the worst first, and a page of the SKUs that have some.

    `period` is the calendar year whose units stand beside them; null where no units are recorded up to it.
    """

    period: int | None
    gaps: list[Gap]
    items: list[IncompleteSku]
    pagination: Pagination


class Questions(TypedDict):
    """What a grade asks for: the facts that it lacks, and those that could change it."""

    missing: list[MissingFact]
    open: list[OpenFact]


class QuestionedSku(IncompleteSku, Questions):
    """A SKU with its gaps and with the questions of its grade."""


class MarketSkus(TypedDict):
    """The SKUs of which a market is one in effect; a country counts its subdivisions."""

    market: str
    skus: int


class FlagSkus(TypedDict):
    """A format ban with the SKUs that point to it: certainly, or depending on a fact that is not recorded."""

    code: str
    text: str
    applies_from: str
    skus: int
    certain: int
    depends: int


class MarketTonnes(TypedDict):
    """Tonnes of one market in one period, and how many of them its duties reach.

    `halves` are those that are there, of a half-yearly market's calendar year; else None.
    """

    market: str
    year: int
    half: int
    halves: list[int] | None
    tonnes: float
    in_scope_tonnes: float
    undecided_tonnes: float
    out_of_scope_tonnes: float


class PortfolioTonnes(TypedDict):
    """The tonnes by market; they have an instant of their own."""

    as_of: str
    by_market: list[MarketTonnes]


class TonnesOfYear(TypedDict):
    """The tonnes of one calendar year and its halves by market, and how many rows of it could not be counted."""

    year: int | None
    years: list[int]
    rows: list[MarketTonnes]
    as_of: datetime
    ruleset_version: str
    uncounted: int


class JurisdictionFacts(TypedDict):
    """The facts of a jurisdiction that the overview shows; null where the catalogue does not serve it."""

    name: str | None
    system: str | None
    system_key: str | None
    depth: int | None
    verified_on: str | None
    register_name: str | None


class InScope(JurisdictionFacts):
    """A jurisdiction that is a market in effect of some SKU; `volume_rows` counts its rows of all periods."""

    code: str
    skus: int
    volume_rows: int


class Overview(Head):
    """The portfolio at a glance. Every code of a vocabulary is named, also where no SKU has it."""

    skus: int
    components: int
    indicative: bool
    ruleset_versions: list[str]
    grades: dict[str, int]
    provisional: dict[str, int]
    doc_status: dict[str, int]
    packaging_levels: dict[str, int]
    markets: list[MarketSkus]
    skus_without_market: int
    annex_v_flags: list[FlagSkus]
    tonnes: PortfolioTonnes | None
    jurisdictions: list[InScope]
