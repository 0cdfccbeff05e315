"""Types of a grade's trace and of what stands beside it in a SKU's compliance block: JSON objects as they are made.

They are published as they are here, and nothing is serialised through them. At the end are the models of the catalogue
of jurisdictions, which is loaded as the rules are.
"""

from typing import Annotated, Any, Literal  # Any: types that are published with more than their JSON text

from pydantic import Field as PydanticField
from typing_extensions import TypedDict

from schemas.answers import Answer, Day, DocStatus, Grade, Identifier, Issue, Number
from schemas.pages import Pagination


class MissingFact(TypedDict):
    """What to send for a grade, or for a firmer one: an issue whose `field` is the path in the caller's body."""

    field: str
    code: str
    message: str


_Identifier: Any = Identifier
_Day: Any = Day
_Issue: Any = Issue
"""Published as these; the objects that the law makes have their texts."""
_Verdict: Any = Literal["compatible", "limited", "incompatible", "not_assessed", "overruled"]
_Effect: Any = Literal["none", "removed", "limited", "removed_limited", "not_assessed", "disqualify"]
_Certainty: Any = Literal["certain", "depends"]


class GradeRule(TypedDict):
    """A design rule that fired on a component, with its source."""

    rule_id: str
    verdict: Annotated[
        _Verdict,
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


class GradeComponent(TypedDict):
    """One component of a unit: what it was read as, its share, and what it does to the grade."""

    component_id: Annotated[
        _Identifier | None, PydanticField(description="The component; null for a SKU that was graded without a graph.")
    ]
    component_type: str
    resolved_material: str | None
    share_percent: Annotated[Number | None, PydanticField(description="Share of the unit's weight.")]
    effect: Annotated[
        _Effect,
        PydanticField(description="The strictest effect of its rules that is not overruled."),
    ]
    rules: list[GradeRule]


class GradeUnit(TypedDict):
    """A part that is graded by itself: the body with all that stays on it, or a separable component."""

    unit: str
    component_ids: list[_Identifier | None]
    grade: Grade
    score: Number | None
    components: list[GradeComponent]


class PreviousGrade(TypedDict):
    """What the earlier rule-set gave to the same facts."""

    ruleset_version: str
    grade: Grade
    score: Number | None
    reason: Annotated[str, PydanticField(description="One sentence: why that grade was what it was.")]


class OpenFact(TypedDict):
    """A fact that nobody gave and that could change the grade."""

    field: Annotated[str, PydanticField(description="Name of the fact in the component or the SKU.")]
    component_id: Annotated[
        _Identifier | None,
        PydanticField(description="The component; null for a fact of the SKU, and for a SKU without components."),
    ]
    ask: Annotated[str, PydanticField(description="What to ask for it, in the language of Accept-Language.")]
    could_become: Annotated[
        list[Grade], PydanticField(description="The other grades that one of its values gives, the best first.")
    ]


class UncoveredMaterial(TypedDict):
    """A material that is given and that no guideline row covers: a reason for the grade, and nothing to ask for."""

    component_id: Annotated[
        _Identifier | None, PydanticField(description="The component; null for a SKU that was graded without a graph.")
    ]
    code: Annotated[Literal["no_guideline_row"], PydanticField(description="The reason's code.")]
    material: Annotated[str, PydanticField(description="What the material was read as.")]
    message: Annotated[str, PydanticField(description="One sentence, in the language of Accept-Language.")]


class GradeTrace(TypedDict):
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
    missing: Annotated[list[_Issue], PydanticField(description="Fields to send for a grade, or for a firmer one.")]
    open: Annotated[
        list[OpenFact],
        PydanticField(description="Facts that could change the grade, the strongest first."),
    ]
    no_guideline_row: Annotated[
        list[UncoveredMaterial],
        PydanticField(description="Given materials that no guideline row covers: the grade is a reading, or none."),
    ]
    previous: Annotated[
        PreviousGrade | None,
        PydanticField(
            description="The grade before another rule-set regraded the record; null where none did, or a fact that "
            "the grade reads was written since."
        ),
    ]
    assumptions: list[str]


class AnnexVFlag(TypedDict):
    """A format ban of Annex V that the SKU meets, or would meet were one fact different."""

    code: str
    format: str
    applies_from: _Day
    reason: str
    reference: str
    certainty: _Certainty
    depends_on: list[str]


class SchemeOpenFact(TypedDict):
    """A fact that nobody gave and that could change a scheme's rating, or without which there is none."""

    field: Annotated[str, PydanticField(description="Name of the fact in the component or the SKU.")]
    component_id: Annotated[
        _Identifier | None,
        PydanticField(description="The component; null for a fact of the SKU, and for a SKU without components."),
    ]
    ask: Annotated[str, PydanticField(description="What to ask for it.")]
    could_become: Annotated[
        list[str], PydanticField(description="The ratings that one of its values gives, the best first.")
    ]


class SchemeRating(TypedDict):
    """A rating by a national scheme: a proposal, which no declaration uses before a person has stated it."""

    scheme: Annotated[str, PydanticField(description="The scheme: uk_ram, the United Kingdom's RAM.")]
    version: Annotated[str, PydanticField(description="Version of the scheme's methodology for this year.")]
    rating: Annotated[
        str | None,
        PydanticField(
            description="Rating of the worst part: red, amber or green in uk_ram; null if a fact is missing."
        ),
    ]
    unverified: Annotated[
        bool,
        PydanticField(
            description="Whether a rule that decides the rating rests on memory: no file has such a rating before a "
            "person has confirmed it."
        ),
    ]
    open: list[SchemeOpenFact]
    source_url: Annotated[str, PydanticField(description="Address of the methodology.")]


Undecided = Literal[
    "packaging_format", "packaging_level", "use_contexts", "material", "polymer_or_grade", "thickness_um"
]
"""A fact without which a format ban cannot be ruled out."""


class SkuCompliance(TypedDict):
    """The compliance block of a SKU."""

    recyclability_grade: Grade | None
    recyclability_score: Number | None
    doc_status: DocStatus | None
    annex_v_flags: list[AnnexVFlag]
    annex_v_undecided: Annotated[
        list[Undecided],
        PydanticField(
            description="Facts that are missing, or not understood, and without which a format ban beside those of "
            "`annex_v_flags` cannot be ruled out; material, polymer and thickness are those of the body."
        ),
    ]
    grade_trace: GradeTrace
    schemes: list[SchemeRating]


Representative = Annotated[Literal["yes", "no", "unknown"], PydanticField(json_schema_extra={"x-stability": "preview"})]


class Jurisdiction(Answer):
    """One entry of the catalogue; never an amount of a fee or a legal opinion."""

    code: str
    name: str
    parent_code: str | None
    region: str
    system: str
    system_key: str
    depth: Literal[1, 2, 3]
    verified_on: Day | None
    reviewed_on: Day | None
    register_name: str | None
    register_url: str | None
    law_title: str | None
    law_reference: str | None
    law_date: Day | None
    scope: str
    reporting_period: list[str]
    authorised_representative_required: str
    authorised_representative_from_member_state: Representative
    authorised_representative_from_third_country: Representative
    local_labelling_rule: str | None
    source_url: str | None
    source_note: str | None


class Breakdown(Answer):
    """Counts of the catalogue's entries: each entry once by system, and once by region."""

    by_system: dict[str, int]
    by_region: dict[str, int]


class Coverage(Answer):
    """How deep the catalogue goes."""

    guided: int
    sourced: int
    signalled: int
    newest_verified_on: Day | None
    breakdown: Breakdown


class JurisdictionListResponse(Answer):
    """A page of the catalogue, by code."""

    data: list[Jurisdiction]
    coverage: Coverage
    pagination: Pagination
