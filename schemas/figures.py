"""Models of a company's figures: tonnes, what could not be counted, and the verdicts on duties."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field as PydanticField
from typing_extensions import TypedDict

from schemas.answers import Answer, Half, Instant, Number, Verdict
from schemas.companies import Representative
from schemas.json_values import JsonObject
from schemas.pages import Pagination
from schemas.rules import MissingFact, OpenFact

Archived = Annotated[
    bool, PydanticField(description="Whether the SKU is archived: what was placed on a market stays placed.")
]
_HALVES = (
    "Of a calendar year of GB, the halves that are there; empty where the year is recorded whole. Null for one half, "
    "and for markets that have no halves. While one half is missing, tonnes are a lower bound of the year."
)
Halves = Annotated[list[Literal[1, 2]] | None, PydanticField(description=_HALVES)]
Uncategorised = Annotated[
    Number | None,
    PydanticField(
        description="Tonnes of it that have a weight and no category, once for a SKU and period: with those of all "
        "categories they are what was placed. Null where the units are not known, or a weight is beyond all bounds."
    ),
]
Basis = Literal["own", "parent", "eu_default", "fallback"]


class TonnesFigure(TypedDict):
    """The tonnes of one scheme category in one market and period; the last four columns of tonnes add up to the first.

    `tonnes` are all that were placed on the market; report `in_scope_tonnes` to a scheme.
    """

    market: str
    year: int
    half: Half
    halves: Halves
    category_code: str
    category_name: str
    basis: Basis
    tonnes: Number
    in_scope_tonnes: Number
    undecided_tonnes: Number
    out_of_scope_tonnes: Number
    units: int
    skus: int
    scope_key: str | None
    confidence: str | None


class UncountedSku(TypedDict):
    """A SKU that a figure of the market and period does not count, or not wholly, and the facts to give."""

    market: str
    year: int
    half: Half
    halves: Halves
    sku_code: str
    units: int | None
    reason: str
    fields: list[str]
    tonnes: Uncategorised
    archived: Archived


class UndecidedSku(TypedDict):
    """A SKU without a fact that would decide whether its categories are about it; its tonnes are undecided."""

    market: str
    year: int
    half: Half
    halves: Halves
    sku_code: str
    units: int
    category_codes: list[str]
    fields: list[str]
    archived: Archived


class MarketObligation(TypedDict):
    """A duty of a market in a calendar year: the threshold, what counts for it, and the verdict. No legal advice."""

    market: str
    year: int
    halves: Halves
    obligation: str
    material: str
    operator: str | None
    threshold_tonnes: Number | None
    tonnes: Number | None
    tonnes_upper: Number | None
    verdict: Verdict
    reason: str | None
    fields: list[str]
    group: str | None
    group_verdict: Verdict | None
    source_url: str | None
    confidence: str
    scope_key: str
    scope_confidence: str


class FigureOrigin(Answer):
    """What figures were computed from; all null where the company has none yet."""

    as_of: Instant | None
    snapshot: str | None
    ruleset_version: str | None
    catalogue_hash: str | None
    newer_writes: int | None


class TonnesListResponse(FigureOrigin):
    """A page of tonnes, by market, year, half and category."""

    data: list[TonnesFigure]
    pagination: Pagination


class UncountedListResponse(FigureOrigin):
    """A page of what could not be counted, by market, year, half and SKU."""

    data: list[UncountedSku]
    pagination: Pagination


class UndecidedListResponse(FigureOrigin):
    """A page of what would decide a scope, by market, year, half and SKU."""

    data: list[UndecidedSku]
    pagination: Pagination


class ObligationListResponse(FigureOrigin):
    """A page of verdicts, by market and year, in the order of the table of thresholds."""

    data: list[MarketObligation]
    pagination: Pagination


class ContentSentence(TypedDict):
    """A question that the record leaves open, or a rule, in the language of the request."""

    sentence: str
    reference: str


class ContentAsk(ContentSentence):
    """Why plastic of a SKU is in no average, and the question that settles it."""

    reason: str


class ContentLine(TypedDict):
    """The average of one plant, category of Table 1 of Annex II and point of Article 7(1) and (2) in a year."""

    site_id: str
    site_name: str | None
    category_no: str
    packaging_type: str
    point: Literal["a", "b", "c", "d"]
    skus: int
    tonnes: Number
    unknown_tonnes: Number
    known_percent: Number | None
    least_percent: Number | None
    most_percent: Number | None
    minimum_2030_percent: Number
    find_2030_least_percent: Number | None
    find_2030_most_percent: Number | None
    find_2030_least_tonnes: Number
    find_2030_most_tonnes: Number
    minimum_2040_percent: Number
    find_2040_least_percent: Number | None
    find_2040_most_percent: Number | None
    find_2040_least_tonnes: Number
    find_2040_most_tonnes: Number


class ExcludedContent(ContentAsk):
    """Plastic that Article 7 does not count."""

    tonnes: Number
    skus: int


class UnplacedContent(TypedDict):
    """A SKU with plastic, or what may be plastic, that no average has."""

    sku_code: str
    archived: Archived
    units: int | None
    tonnes: Number | None
    asks: list[ContentAsk]
    fields: list[str]


class ContentSummary(TypedDict):
    """The recycled content of plastic in a year by plant, type and format, and what does not count."""

    year: int | None
    years: list[int]
    tonnes: Number
    unplaced_tonnes: Number
    averages: list[ContentLine]
    excluded: list[ExcludedContent]
    open: list[ContentSentence]


class RecycledContentPage(TypedDict):
    """A page of the SKUs that no average has, by code, and all averages of the year."""

    as_of: Instant | None
    newer_writes: int | None
    data: list[UnplacedContent]
    pagination: Pagination
    summary: ContentSummary


class Head(TypedDict):
    """How every answer begins: its instant, and how many write transactions came since."""

    as_of: datetime
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
    """A finding that something is not recorded, with the SKUs that it touches, their units and their tonnes."""

    skus: int
    units: int
    tonnes: float


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

    as_of: datetime
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


class MarketFigures(TypedDict):
    """The figures of one market's latest calendar year: tonnes by category, what is undecided, and obligations."""

    as_of: datetime
    ruleset_version: str
    year: int
    halves: list[int] | None
    tonnes: list[JsonObject]
    uncounted: int
    uncounted_tonnes: float
    scope_missing: int
    scope_missing_first: list[JsonObject]
    obligations: list[JsonObject]


class MarketFinding(FindingEntry):
    """A finding with the SKUs of the market that have it; units are null where none of them has units."""

    skus: int
    units: int | None
    examples: list[str]


class MarketReadiness(Head):
    """The SKUs of one market by class, each finding with its SKUs, and what the market itself asks for."""

    market: str
    in_european_union: bool
    jurisdiction: JsonObject | None
    authorised_representative: Representative | None
    coverage: Mapping[str, str | None] | None
    period: int | None
    figures: MarketFigures | None
    skus: int
    blocked: int
    to_decide: int
    incomplete: int
    ready: int
    blocks: list[MarketFinding]
    decide: list[MarketFinding]
    missing: list[MarketFinding]
    upcoming: list[MarketFinding]
    indicative: bool


class GradeTonnes(TypedDict):
    """The items of one grade, their tonnes, and those of them whose grade a missing fact could change."""

    skus: int
    tonnes: float
    provisional_tonnes: float


class Counted(TypedDict):
    """How many items something is about, and their tonnes."""

    skus: int
    tonnes: float


class BansOfYear(TypedDict):
    """Items with a format ban that applies from a year, each once: for certain, or depending on a fact."""

    certain: Counted
    depends: Counted


class HeadFigures(TypedDict):
    """Where a company stands: what it tells its board. Tonnes are of the calendar year `year`, over all markets.

    `tonnes` are weight times units of the items that are held, `good_tonnes` those of them with grade A or B that
    no missing fact could change. `union_tonnes` are those that are, or may be, sold in the Union, of which its law
    asks; `covered_tonnes` those of them under a valid declaration of conformity, `union_grades` the grades of those
    that Article 6 does not exempt. `in_scope_tonnes` and `undecided_tonnes` are the figures', None where none are
    computed. `bans` counts each item once, by its surest flag; `undecided` are items without a flag, of which a
    missing fact keeps a ban from being ruled out. `bans_by_year` has the others by the year from which their flag
    applies, the earliest of the surest; `in_force` those of today.
    """

    year: int | None
    skus: int
    covered_skus: int
    tonnes: float
    good_tonnes: float
    covered_tonnes: float
    in_scope_tonnes: float | None
    undecided_tonnes: float | None
    grades: dict[str, GradeTonnes]
    union_skus: int
    union_tonnes: float
    union_grades: dict[str, GradeTonnes]
    bans: dict[str, Counted]
    bans_by_year: dict[str, BansOfYear]


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
    head_figures: HeadFigures
    jurisdictions: list[InScope]
