"""Pages that edit, make and copy an item: what would follow is shown before it is saved.

They send what a program would (`api.skus.writing.write_one`): the fields that differ from the version that the form was
opened at, for the version that the person has seen. So two people at once keep each other's fields, and the second is
told.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, Self, cast
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from api.audit import words
from api.http.answers import json_of
from api.http.errors import SHOWN_IN_FORM, HttpRefusal, VersionConflict, http_refusal
from api.http.requests import fingerprint
from api.http.service import service_of
from api.http.writing import Precondition, Write
from api.pages.forms import (
    Form,
    Sent,
    SentForm,
    faults_with,
    input_of_path,
    path_id,
    unread_values,
    version_of,
    write_of,
)
from api.pages.refusals import PageRefused
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import Editor, Session
from api.skus import form as form_skus
from api.skus import words as words_skus
from api.skus.writing import write_one
from schemas.issues import Issue
from schemas.json_values import JsonMapping
from schemas.messages import Message
from schemas.refusals import NotThere, Refused, require
from schemas.skus.inputs import parse_sku, parse_volumes
from schemas.skus.types import SkuDetail
from services.audit import difference_of_rows
from services.skus import detail
from services.skus.archive import archived_code
from services.skus.write import WriteOutcome, write_volumes
from warehouse import library
from warehouse.operate.sessions import Connection
from warehouse.skus import history, queries

router = APIRouter(prefix="/items")

MOST: Final = {"part": 50, "volume": 200}
"""Parts and rows of volumes that the form can show. Of an item with more it shows none of them, and changes none."""
_LISTED: Final = {"part": "components", "volume": "volumes"}
"""The field of the item that the form lists under each key."""
_MOST_OPEN: Final = 4
"""Parts, and rows of volumes, that are not folded."""
_MOST_RECORDS: Final = 500
_RECORDS: Final = {
    "brands": "brand",
    "sites": "site",
    "suppliers": "supplier",
    "library_components": "library_component",
}
"""The resource of each table that a field may refer to."""
_OWN: Final = ("sku_code", "gtin", "volumes")
"""What a copy does not take over: it is another item."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """The item that a form is about: its id, the version of its fields that the form began with, and those fields.

    Without an id the item is new; `base` is then None, or the item that it is a copy of. `too_long` are the keys of
    `MOST` of which the item has more: the form leaves those out. `answered` are the inputs of a question's answer.
    """

    sku_id: UUID | None
    version: int | None
    base: SkuDetail | None
    too_long: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()

    def form(self, lang: str) -> Form:
        """Return the form as it was opened."""
        own = () if self.sku_id else _OWN
        form = form_skus.form_of(self.base, lang, leaving_out=(*own, *(_LISTED[key] for key in self.too_long)))
        return form if self.sku_id else form_skus.without_ids(form)

    def within_limits(self) -> Self:
        """Return it without the parts or volumes that a form cannot show."""
        if self.base is None:
            return self
        counts = {"part": len(self.base["components"]), "volume": len(self.base["volumes"])}
        return replace(self, too_long=tuple(key for key, count in counts.items() if count > MOST[key]))


_NEW: Final = _Opened(None, None, None)
LongForm = Annotated[Form, Depends(Sent(4_000))]


@router.get("/new")
def get_new(request: Request, session: Editor) -> Response:
    """Show an empty form."""
    return _page(request, session, _NEW, Form([]))


@router.post("/new")
def post_new(request: Request, session: Editor, form: LongForm) -> Response:
    """Add or remove a part, show what would follow, or make the item."""
    return _sent(request, session, form, None)


@router.get("/{id}/copy")
def get_copy(request: Request, session: Editor) -> Response:
    """Show the form of a new item, filled in with another; it is sent to `/items/new`."""
    return _open(request, session, copy=True)


@router.get("/{id}/edit")
def get_edit(request: Request, session: Editor) -> Response:
    """Show the form of an item."""
    return _open(request, session)


@router.post("/{id}/edit")
def post_edit(request: Request, session: Editor, form: LongForm) -> Response:
    """Add or remove a part, show what would follow, or save."""
    return _sent(request, session, form, path_id(request))


@router.post("/{id}/answer")
def post_answer(request: Request, session: Editor, form: SentForm) -> Response:
    """Save the answer to a question of the item's page, or show what would follow.

    It edits the item as its form would, for the version that the person has seen.
    """
    lang, seen = language_of(request), version_of(form.get("version"))
    with service_of(request).writes.company(session.company_id) as conn:
        opened = replace(_opened(conn, path_id(request), seen), answered=form_skus.names_in(form))
    changed = form_skus.answered(opened.form(lang), form)
    missing = form_skus.unanswered(form)
    if missing is not None:
        faults = [(missing, text("edit.unanswered", lang))]
        return _page(request, session, opened, changed, seen=seen, faults=faults)
    answers = Form([*changed.multi_items(), ("seen", str(seen)), ("once", form.get("once", ""))])
    return _written(request, session, answers, opened, dry_run=form.get("step") != "save", back_to="#grade")


def _open(request: Request, session: Session, *, copy: bool = False) -> Response:
    sku_id = path_id(request)
    with service_of(request).writes.company(session.company_id) as conn:
        opened = _opened(conn, sku_id, queries.version_of(conn, sku_id)).within_limits()
    if copy:
        opened = replace(opened, sku_id=None)
    return _page(request, session, opened, opened.form(language_of(request)), seen=opened.version)


def _opened(conn: Connection, sku_id: UUID, version: int | None) -> _Opened:
    row = require(None if version is None else history.of_version(conn, sku_id, version))
    return _Opened(sku_id, version, cast(SkuDetail, detail.fields(row)))


def _sent(request: Request, session: Session, form: Form, sku_id: UUID | None) -> Response:
    """Do the step of the button that was pressed. Raise `PageRefused` for more parts than a page of ours can send."""
    counts = {name: len(form.getlist(name)) for name in MOST}
    if any(count > MOST[name] for name, count in counts.items()):
        raise PageRefused(413, "refused.too_large")
    opened = _NEW
    if sku_id is not None:
        with service_of(request).writes.company(session.company_id) as conn:
            opened = _opened(conn, sku_id, version_of(form.get("version"))).within_limits()
    if any(counts[name] for name in opened.too_long):
        raise PageRefused(413, "refused.too_large")
    step, _, key = form.get("step", "check").partition(".")
    match step:
        case "add" if counts.get(key) == MOST.get(key):
            faults = [("", text("edit.most", language_of(request)))]
            return _page(request, session, opened, form, seen=version_of(form.get("seen")), faults=faults)
        case "add" if key in MOST and key not in opened.too_long:
            return _page(request, session, opened, form_skus.with_key(form, key), seen=version_of(form.get("seen")))
        case "remove" if key.partition(".")[0] in MOST:
            name, _, number = key.partition(".")
            form = form_skus.without_key(form, name, number)
            return _page(request, session, opened, form, seen=version_of(form.get("seen")))
    return _written(request, session, form, opened, dry_run=step != "save")


def _written(
    request: Request, session: Session, form: Form, opened: _Opened, *, dry_run: bool, back_to: str = ""
) -> Response:
    """Write the form, or with `dry_run` show what would follow; show it again where it is refused.

    `back_to` is the place on the item's page that is shown once it is saved.
    """
    lang, seen = language_of(request), version_of(form.get("seen"))
    write = write_of(request, session, form.get("once"))
    outcome: WriteOutcome | None = None

    def write_form(conn: Connection) -> WriteOutcome:
        nonlocal outcome
        outcome = _write(conn, write, form, opened, dry_run=dry_run)
        return outcome

    try:
        answer = write.answer(
            fingerprint([*form.multi_items()]), write_form, lambda done: json_of(done.id or ""), dry_run=dry_run
        )
    except VersionConflict as conflict:
        return _conflict_page(request, session, form, opened, conflict)
    except SHOWN_IN_FORM as refused:
        return _page(request, session, opened, form, seen=seen, faults=_faults(http_refusal(refused), form, lang))
    if not dry_run:
        sku_id = bytes(answer.body).decode().strip('"') or opened.sku_id
        return redirect(link(request, f"/items/{sku_id}", saved="yes") + back_to)
    assert outcome is not None, "a dry run is never answered by an earlier one"
    assert outcome.detail is not None, "a refused write has raised"
    return _page(request, session, opened, form, seen=seen, after=outcome.detail(lang=lang), warnings=outcome.warnings)


def _write(conn: Connection, write: Write, form: Form, opened: _Opened, *, dry_run: bool) -> WriteOutcome:
    """Write the fields and volumes that differ, in the caller's transaction. Raise the refusals of the contract."""
    base = opened.form(write.actor.lang) if opened.sku_id else Form([])
    body = form_skus.changed(form, base, write.actor.lang)
    rows = form_skus.changed_volumes(form, base, write.actor.lang)
    required = {"sku_code": form.get("sku_code", ""), "name": form.get("name", "")}
    _check_typed({**body, **required}, rows)
    if opened.sku_id is None:
        body = {name: value for name, value in body.items() if value not in (None, [])}
        written = write_one(conn, write, body | required, addressed=None, dry_run=dry_run)
        if written.version_before is not None:
            if any(warning.code == "returned_from_archive" for warning in written.warnings):
                raise Refused([archived_code(written.sku_code)])
            sentence = Message("There is an item with this code already; open it and edit it there.")
            raise Refused([Issue("duplicate_sku_code", sentence, "sku_code")])
    else:
        seen = version_of(form.get("seen"))
        precondition = Precondition.of_version(seen)
        if "name" not in body and seen is not None and seen != opened.version:
            # Each write must send a name, and an untouched one is that of the version seen.
            row = history.of_version(conn, opened.sku_id, seen)
            required["name"] = row["name"] if row else required["name"]
        written = write_one(conn, write, body | required, precondition, addressed=opened.sku_id, dry_run=dry_run)
    if rows:
        _write_volumes(conn, write, written, rows, dry_run=dry_run)
    return written


def _check_typed(body: JsonMapping, rows: Sequence[tuple[str, JsonMapping]]) -> None:
    """Raise `Refused` with each number and market that could not be read, or may be two."""
    unread = faults_with(body, parse_sku)
    for place, (_, row) in enumerate(rows):
        unread += [_in_volumes(Issue(i.code, i.message, i.field, place), rows) for i in unread_values(row)]
    if unread:
        raise Refused(unread)


def _write_volumes(
    conn: Connection, write: Write, written: WriteOutcome, rows: Sequence[tuple[str, JsonMapping]], *, dry_run: bool
) -> None:
    try:
        parsed = parse_volumes([row for _, row in rows])
        if written.id is None:  # a dry run's new item has no row whose volumes could be written
            return
        rulesets = write.service.rulesets
        write_volumes(conn, write.actor, written.sku_code, parsed, rulesets=rulesets, dry_run=dry_run)
    except Refused as invalid:
        raise Refused([_in_volumes(issue, rows) for issue in invalid.issues]) from None


def _in_volumes(issue: Issue, rows: Sequence[tuple[str, JsonMapping]]) -> Issue:
    """Return a fault of a row of volumes at its input in the form."""
    key = rows[issue.row][0] if issue.row is not None else ""
    return Issue(issue.code, issue.message, f"volumes.{key}.{issue.field or 'market'}")


def _faults(refused: HttpRefusal, form: Form, lang: str) -> list[tuple[str, str]]:
    """Return what is wrong at each input, in the person's language."""
    faults, types = [], [form.get(f"parts.{key}.component_type", "") for key in form.getlist("part")]
    for issue in refused.details or ():
        path = str(issue.get("field") or "")
        name = input_of_path(path, [f"parts.{key}" for key in form.getlist("part")])
        label = text("edit.volumes", lang) if path.startswith("volumes") else ""
        if path and not label:
            label = words.path_in_words(path, lang, types)
        sentence = said(issue["message"], lang) if "message" in issue else ""
        faults.append((name, f"{label}: {sentence}" if label else sentence))
    return faults or [("", said(str(refused), lang))]


def _conflict_page(
    request: Request, session: Session, form: Form, opened: _Opened, conflict: VersionConflict
) -> Response:
    """Return the form with what somebody else has changed since; saving again is for the version of now."""
    lang = language_of(request)
    version = conflict.version
    if opened.sku_id is None or version is None:
        raise NotThere
    with service_of(request).writes.company(session.company_id) as conn:
        now = _opened(conn, opened.sku_id, version)
        form = form_skus.without_ids(form, {line["id"] for line in now.base["components"]} if now.base else set())
        changed = changes_since(conn, opened.sku_id, version_of(form.get("seen")) or version, version, lang)
    return _page(request, session, opened, form, seen=now.version, conflict=changed, status=409)


def changes_since(conn: Connection, sku_id: UUID, seen: int, version: int, lang: str) -> list[tuple[str, str | None]]:
    """Return the fields that changed from the version seen to a later one, each with its new value if it is short."""
    since, then = history.of_version(conn, sku_id, seen), history.of_version(conn, sku_id, version)
    changed = difference_of_rows(since, then).after if since and then else {}
    return [
        (words_skus.changed_name(name, lang), words_skus.short_value(value, name, lang))
        for name, value in changed.items()
    ]


def _page(
    request: Request,
    session: Session,
    opened: _Opened,
    form: Form,
    *,
    seen: int | None = None,
    faults: Sequence[tuple[str, str]] = (),
    conflict: Sequence[tuple[str, str | None]] | None = None,
    after: SkuDetail | None = None,
    warnings: Sequence[Issue] = (),
    status: int = 400,
) -> Response:
    lang = language_of(request)
    opened = opened.within_limits()
    unshown = any(form.getlist(key) for key in opened.too_long)  # an answer, which the form without parts cannot hold
    form = Form([pair for pair in form.multi_items() if pair[0] not in opened.too_long])
    with service_of(request).writes.company(session.company_id) as conn:
        records = {table: library.first_names(conn, resource, _MOST_RECORDS) for table, resource in _RECORDS.items()}
    return page(
        request,
        "edit.html",
        session=session,
        status=status if faults or conflict is not None else 200,
        opened=opened,
        seen=seen,
        given=form,
        faults=faults,
        conflict=conflict,
        after=after,
        reason=None if after is None else words_skus.grade_words(after, lang)["reason"],
        warnings=[said(warning.message, lang) for warning in warnings],
        once=str(uuid4()),
        sections=form_skus.sections(lang, records),
        substances=form_skus.declarations("", lang),
        too_long=opened.too_long,
        is_copy=opened.sku_id is None,
        answered=form_skus.inputs_again(opened.base, opened.answered, lang) if unshown and opened.base else [],
        parts=[
            (key, form_skus.part_inputs(key, lang, records), form_skus.declarations(f"parts.{key}.", lang))
            for key in form.getlist("part")
        ],
        first_inputs=len(form_skus.FIRST),
        shown_open={name for name, _ in faults} | {request.query_params.get("field")},
        volumes=form.getlist("volume"),
        volumes_open=any(name.startswith("volumes") for name, _ in faults)
        or not all(form.get(f"volumes.{key}.market") for key in form.getlist("volume")),
        most_open=_MOST_OPEN,
        action=f"/items/{opened.sku_id}/edit" if opened.sku_id else "/items/new",
    )
