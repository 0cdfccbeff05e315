"""Models of answers about technical files and of what they are evidence of: metadata, never bytes or an address."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Final, Literal, get_args  # Any: texts and days

from pydantic import Field as PydanticField
from typing_extensions import TypedDict

from schemas import normalise, texts
from schemas.answers import Day, Identifier, Instant, code
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import Unfit
from schemas.pages import OneAnswer, Pagination
from schemas.vocabularies import MEDIA_TYPES, TAKEN, TYPES, MediaType

MAX_FILE_BYTES: Final = 20_000_000
"""Largest technical file: 20 MB (interface v1, Limits; decisions §9)."""


class TechnicalFile(TypedDict):
    """A document of a SKU's technical documentation."""

    id: Annotated[Identifier | None, PydanticField(description="The file's id; null for what a dry run would store.")]
    sku_id: Identifier
    type: code("technical_file_type")  # type: ignore[valid-type]
    filename: Annotated[
        str,
        PydanticField(
            description="Name of the file as it was sent, without folders, and with the ending of its media type."
        ),
    ]
    media_type: Annotated[str, PydanticField(description="Media type of the file, judged by its bytes.")]
    size_bytes: int
    sha256: Annotated[
        str, PydanticField(description="SHA-256 of the stored bytes, hexadecimal.", pattern=r"^[0-9a-f]{64}$")
    ]
    reference: str | None
    issuer: str | None
    issued_on: Day | None
    expires_on: Day | None
    created_at: Instant
    updated_at: Instant


class TechnicalFilesListResponse(TypedDict):
    """A page of a SKU's technical files, newest first."""

    data: list[TechnicalFile]
    pagination: Pagination


class TechnicalFileUploadResponse(TypedDict):
    """What was stored, or with `dry_run` would be."""

    dry_run: bool
    data: TechnicalFile


EvidenceState = Literal["ended", "missing", "partial", "ends", "open", "later", "held", "not_concerned"]
"""States of what an article asks to be shown, the worst first."""
EVIDENCE_STATES: Final[tuple[EvidenceState, ...]] = get_args(EvidenceState)
Article = Literal[5, 6, 7, 8, 9, 10, 11, 12]
ARTICLES: Final[tuple[Article, ...]] = get_args(Article)
"""The articles whose requirements a declaration of conformity states to be demonstrated (Article 39(1))."""


class EvidenceFile(TypedDict):
    """A technical file as evidence."""

    id: Identifier
    type: code("technical_file_type")  # type: ignore[valid-type]
    kind: Literal["test_report", "standard", "supplier_statement", "calculation", "assessment", "documentation"]
    filename: str
    sha256: str
    reference: str | None
    issuer: str | None
    issued_on: Day | None
    expires_on: Day | None
    component_ids: list[Identifier] | None
    alone: bool
    state: Literal["valid", "ends", "ended"]


class EvidenceNeed(TypedDict):
    """What an article asks to be shown of a SKU, and the files that show it."""

    need: str
    state: EvidenceState
    sentence: str
    reference: str
    applies_from: Day | None
    reason: str | None
    field: str | None
    files: list[EvidenceFile]


class ArticleEvidence(TypedDict):
    """An article with all that it asks to be shown of a SKU."""

    article: Article
    state: EvidenceState
    needs: list[EvidenceNeed]


class EvidenceRecord(TypedDict):
    """The evidence of a SKU for Articles 5 to 12."""

    id: Identifier
    sku_code: str
    in_union: bool | None
    articles: list[ArticleEvidence]
    other_files: list[EvidenceFile]


class ArticleState(TypedDict):
    """The state of an article, in few words."""

    article: Article
    state: EvidenceState


class EvidencedSku(TypedDict):
    """A SKU with the state of each article."""

    id: Identifier
    sku_code: str
    name: str
    articles: list[ArticleState]


class CountedEvidence(TypedDict):
    """SKUs in one state."""

    state: EvidenceState
    skus: int


class AskedEvidence(TypedDict):
    """What an article asks to be shown, and from when."""

    sentence: str
    reference: str
    applies_from: Day | None


class CountedArticle(TypedDict):
    """An article with the SKUs by state."""

    article: Article
    needs: list[AskedEvidence]
    states: list[CountedEvidence]


class EvidenceSummary(TypedDict):
    """The portfolio by article."""

    soon_days: int
    articles: list[CountedArticle]


class EvidencePage(TypedDict):
    """A page of SKUs by code, and the whole portfolio in sums."""

    data: list[EvidencedSku]
    pagination: Pagination
    summary: EvidenceSummary


class EvidenceResponse(OneAnswer[EvidenceRecord]):
    """The evidence of one SKU."""


MAX_TEXT: Final = 2_000
"""Characters of `reference` and of `issuer` (decisions §4, optional texts)."""
MAX_FILENAME: Final = 255
"""Characters of a file's name, without the folders before it."""

_ALSO: Final = {".jpg": (".jpeg", ".jpe", ".jfif")}
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TEXTS: Final = ("reference", "issuer")
_DAYS: Final = ("issued_on", "expires_on")
FIELDS: Final = ("type", *_TEXTS, *_DAYS)
"""The text fields of an upload beside the part `file` (decisions §2)."""


def declared_media_type(content_type: str) -> MediaType | None:
    """Return the media type that a part's Content-Type names; None where it names none (`application/octet-stream`).

    Raise `Unfit` (`unsupported_media_type`) for one that is not accepted.
    """
    name = content_type.partition(";")[0].strip().lower()
    if name in {"", "application/octet-stream", "binary/octet-stream"}:
        return None
    for kind in MEDIA_TYPES:
        if name == kind.media_type or name in kind.also_declared_as:
            return kind
    raise Unfit(
        "unsupported_media_type",
        Message("{name} is not taken; taken are {taken}.", name=normalise.quote(name), taken=TAKEN),
    )


def visible(name: str) -> str:
    """Return a name without invisible characters: `report\u202efdp.exe` is shown as `reportexe.pdf` (Unicode TR 36)."""
    return "".join(character for character in name if unicodedata.category(character) != "Cf")


def own_name(filename: str) -> str:
    """Return a file's name without folders and without invisible characters. Raise `Unfit`."""
    name = visible(texts.code(re.split(r"[/\\]", filename)[-1]))
    if texts.control_in(name) or set(name) & {"\t", "\n", "\r"}:
        raise Unfit("invalid_format", Message("The file's name holds a control character; send it without."))
    if not name:
        raise Unfit("required", Message("The part file needs a filename."))
    if len(name) > MAX_FILENAME:
        raise Unfit(
            "too_long",
            Message(
                "A file's name has at most {most} characters; this one has {given}.", most=MAX_FILENAME, given=len(name)
            ),
        )
    return name


def name_as(name: str, kind: MediaType) -> str:
    """Return the name with a file extension that fits the bytes: a person then opens the file type that was checked."""
    if name.lower().endswith((kind.extension, *_ALSO.get(kind.extension, ()))):
        return name
    return f"{name[: MAX_FILENAME - len(kind.extension)]}{kind.extension}"


def parse_fields(fields: Mapping[str, str]) -> tuple[dict[str, Any], list[Issue]]:
    """Return the text fields as they are stored, empty ones null, and their faults."""
    stored: dict[str, Any] = dict.fromkeys(FIELDS)  # texts and days; the name of a field says which
    issues = [
        Issue(
            "unknown_field",
            Message(
                "A technical file has no field {name}; it has file, {fields}.",
                name=normalise.quote(name),
                fields=", ".join(FIELDS),
            ),
            name,
        )
        for name in fields
        if name not in FIELDS
    ]
    for name in FIELDS:
        text = fields.get(name, "").strip()
        try:
            if name == "type":
                stored[name] = _type(text)
            elif text:
                stored[name] = (
                    day(text) if name in _DAYS else normalise.text(text, min_length=None, max_length=MAX_TEXT)
                )
        except Unfit as unfit:
            issues.append(Issue(unfit.code, unfit.message, name))
    issued_on, expires_on = stored["issued_on"], stored["expires_on"]
    if issued_on and expires_on and expires_on < issued_on:
        sentence = Message(
            "The document would expire before it was issued ({issued_on}); send a later day.", issued_on=issued_on
        )
        issues.append(Issue("out_of_range", sentence, "expires_on"))
    return stored, issues


def _type(text: str) -> str:
    if not text:
        raise Unfit("required", Message("Say what the document is; type is one of: {types}.", types=", ".join(TYPES)))
    if text not in TYPES:
        raise Unfit(
            "unknown_file_type",
            Message("{value} is not one of: {codes}.", value=normalise.quote(text), codes=", ".join(TYPES)),
        )
    return text


def day(text: str) -> date:
    """Return a calendar day. Raise `Unfit` (`invalid_date`)."""
    if _DAY.fullmatch(text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass  # the form of a date, but no day of the calendar
    raise Unfit(
        "invalid_date",
        Message("{text} is no day of the calendar in the form 2026-11-21 (ISO 8601).", text=normalise.quote(text)),
    )
