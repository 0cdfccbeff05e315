"""Types of a grade's trace and of what stands beside it in a SKU's compliance block: JSON objects as they are made.

`schemas.rules` and `schemas.skus.answers` have Pydantic models of the same names and fields: they publish
the OpenAPI document and tests check answers against them. Nothing is serialised through them, so the code that makes
and reads the objects uses the types here; a test compares both field by field.
"""

from typing import Annotated, Literal, TypedDict

from pydantic import Field as PydanticField

from schemas.answers import Answer, Grade, Identifier, Issue, Number


class MissingFact(TypedDict):
    """What to send for a grade, or for a firmer one: an issue whose `field` is the path in the caller's body."""

    field: str
    code: str
    message: str


class GradeRuleRecord(TypedDict):
    """A design rule that fired on a component, with its source."""

    rule_id: str
    verdict: str
    text: str
    source: str | None
    basis: str | None
    confidence: str | None


class GradeComponentRecord(TypedDict):
    """One component of a unit: what it was read as, its share, and what it does to the grade."""

    component_id: str | None
    component_type: str
    resolved_material: str | None
    share_percent: float | None
    effect: str
    rules: list[GradeRuleRecord]


class GradeUnitRecord(TypedDict):
    """A part that is graded by itself: the body with all that stays on it, or a separable component."""

    unit: str
    component_ids: list[str | None]
    grade: str
    score: float | None
    components: list[GradeComponentRecord]


class PreviousGradeRecord(TypedDict):
    """What the rule-set before gave to the same facts."""

    ruleset_version: str
    grade: str
    score: float | None
    reason: str


class OpenFactRecord(TypedDict):
    """A fact that nobody gave and that could change the grade."""

    field: str
    component_id: str | None
    ask: str
    could_become: list[str]


class GradeTraceRecord(TypedDict):
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
    units: list[GradeUnitRecord]
    missing: list[MissingFact]
    open: list[OpenFactRecord]
    previous: PreviousGradeRecord | None
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
    open: list[OpenFactRecord]
    source_url: str


class SkuCompliance(TypedDict):
    """The compliance block of a SKU."""

    recyclability_grade: str | None
    recyclability_score: float | None
    doc_status: str | None
    annex_v_flags: list[AnnexVFlag]
    grade_trace: GradeTraceRecord
    schemes: list[SchemeRating]


class GradeRule(Answer):
    """A design rule that fired on a component, with its source."""

    rule_id: str
    verdict: Annotated[
        Literal["compatible", "limited", "incompatible", "not_assessed", "overruled"],
        PydanticField(description="The guideline's verdict; overruled where a stricter or nearer rule decides."),
    ]
    text: str
    source: str | None
    basis: Annotated[
        str | None,
        PydanticField(
            description="Where the rule comes from, if not simply from its published source: source, extended (the "
            "source's row, widened or read by us) or ours."
        ),
    ]
    confidence: Annotated[
        str | None,
        PydanticField(
            description="How sure a rule with a `basis` is: published, secondary, ours, from_memory_unverified, or "
            "with _conflict or _column_inferred."
        ),
    ]


class GradeComponent(Answer):
    """One component of a unit: what it was read as, its share, and what it does to the grade."""

    component_id: Annotated[
        Identifier | None, PydanticField(description="The component; null for a SKU that was graded without a graph.")
    ]
    component_type: str
    resolved_material: str | None
    share_percent: Annotated[Number | None, PydanticField(description="Share of the unit's weight.")]
    effect: Annotated[
        Literal["none", "removed", "limited", "removed_limited", "not_assessed", "disqualify"],
        PydanticField(description="The strictest effect of its rules that is not overruled."),
    ]
    rules: list[GradeRule]


class GradeUnit(Answer):
    """A part that is graded by itself: the body with all that stays on it, or a separable component."""

    unit: str
    component_ids: list[Identifier | None]
    grade: Grade
    score: Number | None
    components: list[GradeComponent]


class PreviousGrade(Answer):
    """What the earlier rule-set gave to the same facts."""

    ruleset_version: str
    grade: Grade
    score: Number | None
    reason: Annotated[str, PydanticField(description="One sentence: why that grade was what it was.")]


class OpenFact(Answer):
    """A fact that nobody gave and that could change the grade."""

    field: Annotated[str, PydanticField(description="Name of the fact in the component or the SKU.")]
    component_id: Annotated[
        Identifier | None,
        PydanticField(description="The component; null for a fact of the SKU, and for a SKU without components."),
    ]
    ask: Annotated[str, PydanticField(description="What to ask for it, in the language of Accept-Language.")]
    could_become: Annotated[
        list[Grade], PydanticField(description="The other grades that one of its values gives, the best first.")
    ]


class GradeTrace(Answer):
    """How the grade was reached; stream, share, features and cap are those of the body's unit."""

    scheme: Annotated[str, PydanticField(description="The scheme: eu, Regulation (EU) 2025/40.")]
    ruleset_version: str
    indicative: Annotated[
        bool,
        PydanticField(description="Always true: no legal grade exists before the delegated acts, due 1 January 2028."),
    ]
    provisional: Annotated[bool, PydanticField(description="Whether a fact that is not given could change the grade.")]
    reason: Annotated[str, PydanticField(description="One sentence: why the grade is what it is.")]
    stream: Annotated[str | None, PydanticField(description="The sorting stream that the body goes to.")]
    weight_share_percent: Annotated[
        Number | None, PydanticField(description="Share of the weight that recycling keeps.")
    ]
    limited_features: Annotated[int | None, PydanticField(description="Number of features of limited compatibility.")]
    cap: Annotated[
        Number | None, PydanticField(description="Highest score that the features of limited compatibility leave.")
    ]
    units: list[GradeUnit]
    missing: Annotated[list[Issue], PydanticField(description="Fields to send for a grade, or for a firmer one.")]
    open: Annotated[
        list[OpenFact],
        PydanticField(description="Facts that could change the grade, the strongest first."),
    ]
    previous: Annotated[
        PreviousGrade | None,
        PydanticField(
            description="The grade before another rule-set regraded the record; null where none did, or a fact that "
            "the grade reads was written since."
        ),
    ]
    assumptions: list[str]
