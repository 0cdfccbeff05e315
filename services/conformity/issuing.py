"""Issues the declaration of conformity of a draft: completed, signed, and its PDF stored byte for byte.

A draft with an open point is not issued, however old it is: the person who accepts it fills in what is open. Nor is one
whose item's record contradicts it (`compliance.conformity`), as the record is now or as it was when it was drafted.
"""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, date
from typing import Final, NamedTuple
from uuid import UUID

from uuid_utils import uuid7

from compliance import conformity
from compliance.conformity import Verdict
from schemas import conformity as conformity_schemas
from schemas.actors import Actor
from schemas.conformity import POINT, Issuing
from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import Refused
from services.conformity import drafts
from services.review.compare import conflict
from services.review.entries import load_entry
from services.skus import detail as detail_skus
from warehouse import conformity as declarations
from warehouse.audit import ledger
from warehouse.companies import profiles
from warehouse.operate.sessions import Connection
from warehouse.review import Entry
from warehouse.rules import Rulesets
from warehouse.skus import queries

AGAINST: Final = "is_against_record"
"""The member of a draft's payload that says whether the record contradicted conformity when it was prepared."""


def draft_of(conn: Connection, actor: Actor, entry: Entry, *, rulesets: Rulesets) -> drafts.Draft:
    """Return the draft of an entry; for one that was filed without its content, the content as it is now.

    Raises `Refused` where there is neither content nor a SKU to draw it from, and where an open draft has other fixed
    texts than a declaration has now.
    """
    if "draft" in entry.payload:
        draft = drafts.Draft.from_stored(entry.payload["draft"])
        if entry.state == "open" and drafts.is_outdated(draft):
            raise conflict(Message("This draft has other texts than a declaration has now; prepare a new one."))
        return draft
    if entry.sku_id is None:
        raise conflict(Message("This draft has no content and names no item. Reject it, and prepare one for the item."))
    reference = str(entry.payload.get("reference") or f"DoC-{entry.sku_code}")
    lang = entry.payload.get("lang", "en")
    rules = rulesets.active(conn)
    return drafts.draft(conn, actor, entry.sku_id, reference=reference, lang=lang, rules=rules)[0]


_OUTDATED: Final = Message(
    "The item's record contradicted conformity when this draft was prepared, and the draft says so; prepare a new one."
)


def verdict_of(conn: Connection, actor: Actor, entry: Entry, *, on: date, rulesets: Rulesets) -> Verdict:
    """Return the verdict on a draft that would be issued `on` a day, by its item's record as it is now.

    A draft that was drawn from a record that contradicted it is outdated once that record is corrected: its text says
    what was. Raises `Refused` where the draft names no item of the portfolio.
    """
    row = None if entry.sku_id is None else queries.find_sku(conn, entry.sku_id, actor.today)
    if row is None:
        raise conflict(Message("This draft names no item of the portfolio. Reject it, and prepare one for the item."))
    verdict = conformity.judge(detail_skus.record(row), rulesets.active(conn), on=on)
    if not verdict.against and entry.payload.get(AGAINST):
        return verdict._replace(against=[Issue("regulator_rule", _OUTDATED)])
    return verdict


_ISOLATES: Final = str.maketrans("", "", "\u2068\u2069")
"""What `schemas.texts.isolated` puts around a text in another direction."""


def suggestions(conn: Connection, entry: Entry) -> dict[str, str]:
    """Return what the form of a draft is filled in with: what the declaration that it renews stated, else the profile.

    Of a point it is what a person wrote there; what the records say of it stands in the draft.
    """
    profile = profiles.read(conn)
    stated = {
        f"{POINT}manufacturer": profile["address"],
        f"{POINT}standards": profile["standards"],
        "signatory": profile["signatory"],
        "function": profile["function"],
        "place": profile["place"],
    }
    renews = entry.payload.get("renews")
    former = declarations.of_doc(conn, UUID(renews)) if renews else None
    if former is not None:
        stated |= _statements_of(load_entry(conn, former.entry_id), drafts.Draft.from_stored(former.content))
    return {name: text for name, text in stated.items() if text}


def _statements_of(entry: Entry, issued: drafts.Draft) -> dict[str, str]:
    """Return what a person filled in when a draft was issued, by the names of the form."""
    drawn = {point["key"]: point["lines"] for point in entry.payload.get("draft", {}).get("points", ())}
    lines = {point.key: [line.translate(_ISOLATES) for line in point.lines] for point in issued.points}
    stated = {
        f"{POINT}{key}": "\n".join(line for line in lines[key] if line not in drawn[key])
        for key in lines.keys() & drawn.keys() - {drafts.SIGNATURE}
    }
    on_behalf_of, place, signatory, *_ = [*lines.get(drafts.SIGNATURE, []), "", "", ""]
    name, _, function = signatory.partition(": ")[2].partition(", ")
    where = place.partition(": ")[2].rpartition(", ")[0]
    return stated | {"on_behalf_of": on_behalf_of, "place": where, "signatory": name, "function": function}


class Completed(NamedTuple):
    """The filled-in form of a draft, and the declaration that they make with its PDF, in each language.

    The draft's own language comes first.
    """

    reference: str
    form: Issuing
    declared: dict[str, drafts.Draft]
    pdfs: dict[str, bytes]


def complete(
    conn: Connection, actor: Actor, entry: Entry, fields: Mapping[str, str], *, rulesets: Rulesets
) -> Completed:
    """Complete a draft with the fields of the form, and store nothing. Raises as `issue`."""
    draft = draft_of(conn, actor, entry, rulesets=rulesets)
    stored = entry.payload.get("translations", {})
    translations = {
        lang: made
        for lang, values in stored.items()
        if not drafts.is_outdated(made := drafts.Draft.from_stored(values))
    }
    form, issues = conformity_schemas.parse(
        fields,
        [point.key for point in drafts.open_points(draft)],
        [point.key for point in drafts.points_to_add_to(draft)],
        drafted=entry.filed_at.astimezone(UTC).date(),
        today=actor.today,
        languages=(draft.lang, *translations),
    )
    if form is None:
        raise Refused(issues)
    if unprintable := list(_unprintable(form)):
        raise Refused(unprintable)
    if facts := verdict_of(conn, actor, entry, on=form.issued_on, rulesets=rulesets).against:
        raise Refused(facts, "not_conform")
    in_languages = (draft, *(translations[lang] for lang in form.languages if lang != draft.lang))
    declared = {translation.lang: drafts.declaration(translation, form) for translation in in_languages}
    return Completed(draft.reference, form, declared, {lang: drafts.pdf(content) for lang, content in declared.items()})


def issue(conn: Connection, actor: Actor, entry: Entry, fields: Mapping[str, str], *, rulesets: Rulesets) -> UUID:
    """Issue an open draft with the fields of the form (`schemas.conformity`); return the id of its record in `docs`.

    Raises `Refused`: for faults of the form, whose fields are the form's, `not_conform` where the item's record
    contradicts the declaration, and for lines that cannot be printed (`drafts.pdf`). Raises `Refused` as `draft_of`.
    """
    reference, form, declared, pdfs = complete(conn, actor, entry, fields, rulesets=rulesets)
    doc_id, renews = UUID(str(uuid7())), entry.payload.get("renews")
    values: dict[str, object] = {
        "sku_id": entry.sku_id,
        "reference": reference,
        "supplier_name": None,
        "status": "valid",
        "issued_on": form.issued_on,
        "expires_on": form.expires_on,
    }
    if renews is not None:
        values["renews"] = UUID(renews)
    declarations.add(conn, actor.company_id, doc_id, values=values, at=actor.now)
    fingerprints: dict[str, str] = {}
    row = {"doc_id": doc_id, "company_id": actor.company_id, "entry_id": entry.id, "at": actor.now}
    for place, (lang, pdf) in enumerate(pdfs.items()):
        sha256 = hashlib.sha256(pdf).hexdigest()
        fingerprints[f"pdf_sha256_{lang}" if place else "pdf_sha256"] = sha256
        issued = row | {"pdf": pdf, "sha256": sha256}
        declarations.add_declaration(conn, issued, declared[lang].as_dict(), lang=lang if place else None)
    after = {
        name: str(value) for name, value in (values | _signatory(form) | fingerprints).items() if value is not None
    }
    ledger.enter(conn, actor, "doc.created", doc_id, before=None, after=after)
    return doc_id


def _unprintable(form: Issuing) -> Iterator[Issue]:
    """Yield an issue for each text of the form that has a character without a font."""
    filled_in = {f"{POINT}{key}": text for key, text in form.points.items()} | _signatory(form)
    for name, text in filled_in.items():
        if (sentence := drafts.unprintable(text)) is not None:
            yield Issue("invalid_format", sentence, name)


def _signatory(form: Issuing) -> dict[str, str]:
    return {name: getattr(form, name) for name in conformity_schemas.SIGNATORY}
