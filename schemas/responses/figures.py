"""Models of a company's figures: tonnes, what could not be counted, and the verdicts on duties."""

from typing import Annotated, Literal

from pydantic import Field as PydanticField

from schemas.responses.base import Answer, Instant, Number, Pagination

_HALF = "0 is the calendar year; 1 and 2 are semesters, of GB only."
Half = Annotated[Literal[0, 1, 2], PydanticField(description=_HALF)]
Archived = Annotated[
    bool, PydanticField(description="Whether the SKU is archived: what was placed on a market stays placed.")
]
_HALVES = (
    "Of a calendar year of GB, the halves that are there; empty where the year is recorded whole. Null for one half, "
    "and for markets that have no halves. While one half is missing, tonnes are a lower bound of the year."
)
Halves = Annotated[list[Literal[1, 2]] | None, PydanticField(description=_HALVES)]
Basis = Literal["own", "parent", "eu_default", "fallback"]
Verdict = Literal["above", "near", "below", "undecidable"]


class TonnesFigure(Answer):
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


class UncountedSku(Answer):
    """A SKU that a figure of the market and period does not count, or not wholly, and the facts to give."""

    market: str
    year: int
    half: Half
    halves: Halves
    sku_code: str
    units: int | None
    reason: str
    fields: list[str]
    archived: Archived


class UndecidedSku(Answer):
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


class MarketObligation(Answer):
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
