"""Models of the bodies that draft, issue and withdraw declarations of conformity."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import (
    Annotated,
    Any,  # Any: an annotation made from a vocabulary
    Final,
    Literal,
)

from pydantic import AfterValidator
from pydantic import Field as PydanticField
from typing_extensions import TypedDict

from schemas import normalise
from schemas.answers import Answer, Day, Identifier, Instant, code
from schemas.files import day
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import Unfit, quote
from schemas.pages import ListAnswer, Pagination
from schemas.skus.inputs import Strict, validator

POINT: Final = "point."
SIGNATORY: Final = ("on_behalf_of", "signatory", "function", "place")
"""Parts of the signature (Regulation (EU) 2025/40, Annex VIII, last point); each is required."""
MAX_DAYS: Final = 36_500
"""Most days within which declarations are listed that end."""
LONGEST: Final = {"point": 2_000, "signatory": 200}
"""Longest text of a point, and of each part of the signature, in characters."""


@dataclass(frozen=True, slots=True)
class Issuing:
    """The filled-in form: the texts of points by key, the parts of the signature, and the dates.

    `expires_on` is the last day of the declaration, None for no end. `languages` are those in which it is issued beside
    the draft's own.
    """

    points: dict[str, str]
    on_behalf_of: str
    signatory: str
    function: str
    place: str
    issued_on: date
    expires_on: date | None
    languages: tuple[str, ...] = ()


def parse(
    sent: Mapping[str, str],
    open_points: Iterable[str],
    added_to: Iterable[str] = (),
    *,
    drafted: date,
    today: date,
    languages: Sequence[str] = (),
) -> tuple[Issuing | None, list[Issue]]:
    """Return the filled-in form, or its faults. Every open point, the signature and the date of issue are required.

    `added_to` are the points to which a text may be added.
    `languages` are those in which the draft was prepared; the form's `languages` are some of them, joined by spaces.
    The date of issue is not before the day on which the content was read from the records, and not in the future (UTC).
    """
    issues: list[Issue] = []
    added = [key for key in added_to if sent.get(f"{POINT}{key}", "").strip()]
    points = {key: _text(sent, f"{POINT}{key}", LONGEST["point"], issues) for key in (*open_points, *added)}
    signed = {name: _text(sent, name, LONGEST["signatory"], issues) for name in SIGNATORY}
    issued_on, expires_on = (_day(sent, name, issues) for name in ("issued_on", "expires_on"))
    if issued_on and not drafted <= issued_on <= today:
        sentence = Message(
            "The day of issue lies between {drafted}, when the draft was made, and {today}, which is today.",
            drafted=drafted,
            today=today,
        )
        issues.append(Issue("out_of_range", sentence, "issued_on"))
    if expires_on and expires_on < today:
        sentence = Message(
            "A declaration issued today cannot expire on {day}; name a later day or none.", day=expires_on
        )
        issues.append(Issue("out_of_range", sentence, "expires_on"))
    if issued_on is None and not any(issue.field == "issued_on" for issue in issues):
        issues.append(Issue("required", _NEEDED, "issued_on"))
    wanted = tuple(dict.fromkeys(sent.get("languages", "").split()))
    if unknown := [lang for lang in wanted if lang not in languages]:
        sentence = Message(
            "The draft was not prepared in {unknown}; choose among {known}, or prepare a new draft.",
            unknown=quote(", ".join(unknown)),
            known=", ".join(languages),
        )
        issues.append(Issue("not_in_vocabulary", sentence, "languages"))
    if issues or issued_on is None:
        return None, issues
    return Issuing(points, issued_on=issued_on, expires_on=expires_on, languages=wanted, **signed), []


_NEEDED: Final = Message("A declaration cannot be issued without this; fill it in.")


def _text(sent: Mapping[str, str], name: str, longest: int, issues: list[Issue]) -> str:
    text = "\n".join(" ".join(line.split()) for line in sent.get(name, "").splitlines()).strip()
    if not text:
        issues.append(Issue("required", _NEEDED, name))
        return ""
    try:
        return normalise.text(text, min_length=None, max_length=longest)
    except Unfit as unfit:
        issues.append(Issue(unfit.code, unfit.message, name))
        return ""


def _day(sent: Mapping[str, str], name: str, issues: list[Issue]) -> date | None:
    text = sent.get(name, "").strip()
    try:
        return day(text) if text else None
    except Unfit as unfit:
        issues.append(Issue(unfit.code, unfit.message, name))
        return None


Language = Literal["en", "fr", "de"]


_Point = Annotated[str, PydanticField(json_schema_extra={"maxLength": LONGEST["point"]})]
_Signed = Annotated[str, PydanticField(json_schema_extra={"maxLength": LONGEST["signatory"]})]
"""Texts whose content `schemas.conformity` checks."""


def _reference(value: str | None) -> str | None:
    return None if value is None else str(validator(normalise.text, min_length=1, max_length=200)(value))


class DocDraftInput(Strict):
    """A draft of a declaration of conformity: the company's reference and the language."""

    reference: Annotated[
        str | None,
        AfterValidator(_reference),
        PydanticField(
            json_schema_extra={"maxLength": 200},
            description="The company's reference of the document; without it the service makes one from the sku_code.",
        ),
    ] = None
    lang: Annotated[
        str | None,
        PydanticField(
            description="Language of the first document; without it English, or that of the declaration that it "
            "renews. One in which a declaration is not offered is refused with those in which it is."
        ),
    ] = None


class DocIssueInput(Strict):
    """What completes a draft: a text for each open point, the signatory, place and dates."""

    points: Annotated[
        dict[str, _Point],
        PydanticField(
            description="A text for each open point of the draft, by the point's `key`. `legislation` (the other Union "
            "acts that apply, each with its publication reference) and `additional` may have one too; it stands behind "
            "what the records say."
        ),
    ] = PydanticField(default_factory=dict)
    on_behalf_of: Annotated[_Signed, PydanticField(description="The party for whom it is signed.")]
    signatory: Annotated[_Signed, PydanticField(description="Name of the signatory.")]
    function: Annotated[_Signed, PydanticField(description="Function of the signatory.")]
    place: Annotated[_Signed, PydanticField(description="Place of issue.")]
    issued_on: Annotated[
        str,
        PydanticField(
            json_schema_extra={"format": "date"},
            description="First day of the declaration: from the day of the draft to today (UTC).",
        ),
    ]
    expires_on: Annotated[
        str | None,
        PydanticField(
            json_schema_extra={"format": "date"}, description="Last day of the declaration; null for no end."
        ),
    ] = None
    languages: Annotated[
        list[str],
        PydanticField(description="Languages of further PDFs, beside the draft's own: some of its `languages`."),
    ] = PydanticField(default_factory=list)


class DocWithdrawInput(Strict):
    """The reason for which a declaration is withdrawn."""

    reason: Annotated[
        str,
        AfterValidator(validator(normalise.text, min_length=1, max_length=2000)),
        PydanticField(
            json_schema_extra={"minLength": 1, "maxLength": 2000},
            description="The reason, which is kept with the declaration.",
        ),
    ]


RecordStatus: Any = code("doc_record_status")


class DocListItem(TypedDict):
    """Metadata of a DoC, never its contents or an address to download them from."""

    id: Identifier
    sku_id: Annotated[
        Identifier | None, PydanticField(description="The SKU that the declaration covers, where it is about one.")
    ]
    reference: Annotated[str | None, PydanticField(description="The company's reference of the document.")]
    supplier_name: str | None
    status: Annotated[
        RecordStatus | None,
        PydanticField(
            description="Status on the UTC day of the request: a valid DoC past its `expires_on` reads `expired`."
        ),
    ]
    issued_on: Day | None
    expires_on: Annotated[Day | None, PydanticField(description="Last day of the declaration.")]
    created_at: Instant
    updated_at: Instant


class DocOfItem(DocListItem):
    """A DoC with the code and name of its item."""

    sku_code: str | None
    sku_name: str | None


class DocListResponse(ListAnswer[DocListItem]):
    """A page of DoCs, newest first."""


class DocPoint(TypedDict):
    """One point of Annex VIII of Regulation (EU) 2025/40 in a draft."""

    key: Annotated[
        str, PydanticField(description="Name of the point: its text is sent under it when the draft is issued.")
    ]
    number: Annotated[int, PydanticField(description="Number of the point in the Annex.")]
    heading: Annotated[str, PydanticField(description="Heading of the point, in the language of the draft.")]
    lines: Annotated[list[str], PydanticField(description="What the records say on the point.")]
    open: Annotated[bool, PydanticField(description="Whether the point needs a text before the draft can be issued.")]
    source: str


class DocDraft(TypedDict):
    """A draft of a declaration of conformity; nothing is issued or signed by it."""

    id: Annotated[Identifier | None, PydanticField(description="The draft's id; null for what a dry run would file.")]
    sku_id: Annotated[Identifier | None, PydanticField(description="The SKU that it is about.")]
    sku_code: Annotated[str | None, PydanticField(description="Code of that SKU.")]
    state: Annotated[
        Literal["open", "issued", "rejected"],
        PydanticField(description="State of the draft: open until a person decides."),
    ]
    doc_id: Annotated[Identifier | None, PydanticField(description="The declaration that was issued from the draft.")]
    drafted_by: Annotated[str | None, PydanticField(description="Name of the key, person or application.")]
    drafted_at: Annotated[Instant, PydanticField(description="When the records were read.")]
    reference: str
    lang: Annotated[Language, PydanticField(description="Language of the draft and of the first document.")]
    languages: Annotated[list[Language], PydanticField(description="Languages in which it can be issued.")]
    renews: Annotated[Identifier | None, PydanticField(description="The declaration that this one would renew.")]
    open_points: Annotated[int, PydanticField(description="Number of points that need a text before it can be issued.")]
    points: Annotated[list[DocPoint], PydanticField(description="All points but the signature, in their order.")]


class DocDraftListResponse(Answer):
    """A page of the drafts that wait, newest first."""

    data: Annotated[list[DocDraft], PydanticField(description="The drafts of the page.")]
    pagination: Pagination


class DocDraftResponse(Answer):
    """One draft."""

    data: Annotated[DocDraft, PydanticField(description="The draft.")]


class DocDraftResult(Answer):
    """The draft that was filed, or with `dry_run` would be."""

    dry_run: bool
    data: Annotated[DocDraft, PydanticField(description="The draft.")]


class Doc(TypedDict):
    """A declaration of conformity, with its item, its documents, and what became of it."""

    id: Annotated[
        Identifier | None, PydanticField(description="The declaration's id; null for what a dry run would issue.")
    ]
    sku_id: Annotated[
        Identifier | None, PydanticField(description="The SKU that the declaration covers, where it is about one.")
    ]
    sku_code: Annotated[str | None, PydanticField(description="Code of that SKU.")]
    sku_name: Annotated[str | None, PydanticField(description="Name of that SKU.")]
    reference: Annotated[str | None, PydanticField(description="The company's reference of the document.")]
    supplier_name: Annotated[str | None, PydanticField(description="Who issued it, where a supplier did.")]
    state: Annotated[
        Literal["draft", "pending", "valid", "expired", "rejected", "withdrawn"],
        PydanticField(
            description="State on the UTC day of the request. `GET /docs` shows a withdrawn declaration as rejected."
        ),
    ]
    issued_on: Day | None
    expires_on: Annotated[Day | None, PydanticField(description="Last day of the declaration.")]
    days_left: Annotated[int | None, PydanticField(description="Days to its last day; negative after it.")]
    languages: Annotated[
        list[Language], PydanticField(description="Languages of its PDFs; empty if it was not issued here.")
    ]
    renews: Annotated[Identifier | None, PydanticField(description="The earlier declaration, which this one renews.")]
    renewed_by: Annotated[Identifier | None, PydanticField(description="The valid declaration that renews this one.")]
    withdrawn_at: Annotated[Instant | None, PydanticField(description="When it was withdrawn; null where it was not.")]
    withdrawn_reason: Annotated[str | None, PydanticField(description="The reason for which a person withdrew it.")]
    created_at: Instant
    updated_at: Instant


class DocSearchResponse(Answer):
    """A page of declarations: newest first, or with `ends_within` the first to end first."""

    data: Annotated[list[Doc], PydanticField(description="The declarations of the page.")]
    pagination: Pagination


class DocResponse(Answer):
    """One declaration."""

    data: Annotated[Doc, PydanticField(description="The declaration.")]


class DocResult(Answer):
    """The declaration after the write, or with `dry_run` as it would be."""

    dry_run: bool
    data: Annotated[Doc, PydanticField(description="The declaration.")]
