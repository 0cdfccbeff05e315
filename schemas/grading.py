"""Types of a grade's trace and of what stands beside it in a SKU's compliance block: JSON objects as they are made.

`schemas.responses.grading` and `schemas.responses.skus` have Pydantic models of the same names and fields: they publish
the OpenAPI document and tests check answers against them. Nothing is serialised through them, so the code that makes
and reads the objects uses the types here; a test compares both field by field.
"""

from typing import TypedDict


class MissingFact(TypedDict):
    """What to send for a grade, or for a firmer one: an issue whose `field` is the path in the caller's body."""

    field: str
    code: str
    message: str


class GradeRule(TypedDict):
    """A design rule that fired on a component, with its source."""

    rule_id: str
    verdict: str
    text: str
    source: str | None
    basis: str | None
    confidence: str | None


class GradeComponent(TypedDict):
    """One component of a unit: what it was read as, its share, and what it does to the grade."""

    component_id: str | None
    component_type: str
    resolved_material: str | None
    share_percent: float | None
    effect: str
    rules: list[GradeRule]


class GradeUnit(TypedDict):
    """A part that is graded by itself: the body with all that stays on it, or a separable component."""

    unit: str
    component_ids: list[str | None]
    grade: str
    score: float | None
    components: list[GradeComponent]


class PreviousGrade(TypedDict):
    """What the rule-set before gave to the same facts."""

    ruleset_version: str
    grade: str
    score: float | None
    reason: str


class OpenFact(TypedDict):
    """A fact that nobody gave and that could change the grade."""

    field: str
    component_id: str | None
    ask: str
    could_become: list[str]


class GradeTrace(TypedDict):
    """The way to the grade; stream, share, features and cap are those of the body's unit."""

    scheme: str
    ruleset_version: str
    indicative: bool
    provisional: bool
    reason: str
    stream: str | None
    weight_share_percent: float | None
    limited_features: int | None
    cap: float | None
    units: list[GradeUnit]
    missing: list[MissingFact]
    open: list[OpenFact]
    previous: PreviousGrade | None
    assumptions: list[str]


class AnnexVFlag(TypedDict):
    """A format ban of Annex V that the SKU meets, or would meet were one fact different."""

    code: str
    format: str
    applies_from: str
    reason: str
    reference: str
    certainty: str
    depends_on: list[str]


class SchemeRating(TypedDict):
    """What a national scheme would rate the SKU; `open` are the facts that could change the rating."""

    scheme: str
    version: str
    rating: str | None
    open: list[OpenFact]
    source_url: str


class SkuCompliance(TypedDict):
    """The compliance block of a SKU."""

    recyclability_grade: str | None
    recyclability_score: float | None
    doc_status: str | None
    annex_v_flags: list[AnnexVFlag]
    grade_trace: GradeTrace
    schemes: list[SchemeRating]
