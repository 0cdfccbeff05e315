"""Models of what is printed on packs, and of what follows: marks that must go, labels that come, claims to prove.

What each field means stands in `api/openapi/meanings.csv`.
"""

from typing import Annotated, Final, Literal, get_args  # Any: the JSON of a record

from pydantic import Field as PydanticField
from typing_extensions import TypedDict

from schemas.answers import Day, Identifier, Instant, Number
from schemas.library import Code, Id, Name
from schemas.pages import OneAnswer, Pagination, WriteAnswer
from schemas.registers import DayText
from schemas.skus.inputs import Strict, Version

MOST: Final = 50
"""The most marks, and the most claims, of one record."""
COLUMNS: Final = (
    *("sku_code", "name", "brand_name", "state", "marks", "tonnes", "artwork_reference", "artwork_state"),
    *("changes_on", "timing", "labels", "claims"),
)
"""The columns of the file."""
Carrier = Literal["printed", "digital"]
ArtworkState = Literal["not_begun", "in_design", "approved"]
Property = Literal[
    "recyclability",
    "recycled_content",
    "biobased",
    "compostability",
    "reusability",
    "minimisation",
    "substances",
    "other",
]
About = Literal["unit", "part", "all"]
State = Literal["change", "depends", "not_recorded", "clear", "outside"]
CHOICES: Final = {"property": Property, "about": About, "artwork_state": ArtworkState}
STATES: Final[tuple[State, ...]] = get_args(State)


class MarkInput(Strict):
    """A mark on the pack, as anybody calls it; one that the table of marks does not know is kept and asked about."""

    mark: Code
    carrier: Carrier = "printed"
    of_epr: bool | None = None


class ClaimInput(Strict):
    """An environmental claim on the pack; null is not answered."""

    text: Name
    property: Property | None = None
    about: About | None = None
    exceeds: bool | None = None
    proof_id: Id | None = None


class MarksInput(Strict):
    """What is printed on a pack, which replaces what was recorded; a SKU that says nothing has its brand's."""

    marks: Annotated[list[MarkInput], PydanticField(max_length=MOST)] | None = None
    claims: Annotated[list[ClaimInput], PydanticField(max_length=MOST)] = PydanticField(default_factory=list)
    artwork_reference: Code | None = None
    artwork_state: ArtworkState | None = None
    changes_on: DayText | None = None
    if_version: Version | None = None


class Artwork(TypedDict):
    """The new artwork of a pack, and whether what must change does so in time."""

    artwork_reference: str | None
    artwork_state: ArtworkState | None
    changes_on: Day | None
    timing: Literal["in_time", "late", "open"] | None


class Sentence(TypedDict):
    """What the law says or asks, in the language of the request."""

    sentence: str
    reference: str
    applies_from: Day | None


class PackMark(Sentence):
    """A mark on the pack and what Article 12(9) means for it."""

    mark: str
    name: str | None
    kind: str
    carrier: Carrier
    of_epr: bool | None
    answer: Literal["change", "depends", "clear"]


class PackClaim(TypedDict):
    """An environmental claim and what Article 14 asks of it."""

    record_id: Identifier
    record_name: str
    text: str
    property: Property | None
    about: About | None
    exceeds: bool | None
    proof_id: Identifier | None
    state: Literal["breach", "missing", "open", "met", "not_covered"]
    needs: list[Sentence]


class PackLabel(Sentence):
    """A label of Article 12 that a pack needs, or may need."""

    label: Literal["material", "reusable", "recycled", "biobased", "deposit", "replaced"]
    answer: Literal["needed", "depends"]
    field: str | None


class PackRecord(Artwork):
    """What is printed on a SKU's packs, or on those of a brand, and what follows."""

    id: Identifier
    sku_code: str | None
    brand_id: Identifier | None
    brand_name: str | None
    recorded_for: Identifier | None
    state: State
    marks: list[PackMark] | None
    claims: list[PackClaim]
    labels: list[PackLabel]
    asks: list[Sentence]
    version: int
    updated_at: Instant | None


class MarkedSku(Artwork):
    """A SKU with what is printed on it, in few words."""

    id: Identifier
    sku_code: str
    name: str
    brand_name: str | None
    state: State
    tonnes: Number | None
    marks: list[str]
    labels: list[str]
    claims: list[str]


class CountedState(TypedDict):
    """SKUs in one state, with their tonnes in the Union."""

    state: State
    skus: int
    tonnes: Number | None
    without_tonnes: int | None


class CountedLabel(PackLabel):
    """SKUs that need a label, or may need it, for one reason."""

    skus: int


class MarksSummary(TypedDict):
    """The portfolio by Articles 12(9), 12 and 14."""

    change_by: Day
    year: int
    states: list[CountedState]
    labels: list[CountedLabel]
    claims: list[PackClaim]


class MarksPage(TypedDict):
    """A page of SKUs by code, and the whole portfolio in sums."""

    data: list[MarkedSku]
    pagination: Pagination
    summary: MarksSummary


class MarksResponse(OneAnswer[PackRecord]):
    """What is printed on a pack, and what follows."""


class MarksWriteResult(WriteAnswer[PackRecord]):
    """What was stored and what follows; with `dry_run` as it would be."""
