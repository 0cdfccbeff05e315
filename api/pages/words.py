"""The page of the company's own words, which say what texts in its files mean; words are removed here."""

from typing import Final

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.pages.corrections import field_choices_of
from api.pages.forms import Form, read_form
from api.pages.render import language_of, page, redirect
from api.pages.request_values import offset_of, write_of
from api.pages.sessions import Editor, Session, Viewer
from api.service import service_of
from schemas.import_inputs import OwnWordKey, OwnWordsInput
from services.own_words import change_words
from warehouse.imports import words
from warehouse.sessions import Connection

router = APIRouter(prefix="/words")

PAGE_SIZE: Final = 100
_SEPARATOR: Final = ": "


@router.get("")
async def get_words(request: Request, session: Viewer) -> Response:
    """List the company's own words."""
    return await run_in_threadpool(_list_page, request, session)


@router.post("")
async def post_words(request: Request, session: Editor) -> Response:
    """Remove the chosen words."""
    form = await read_form(request, session)
    await run_in_threadpool(_remove, request, session, form)
    lang = request.query_params.get("lang")
    return redirect("/words" + (f"?lang={lang}" if lang else ""))


def _list_page(request: Request, session: Session) -> Response:
    offset, lang = offset_of(request), language_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        every = [(field, text, value) for field, texts in words.load(conn).items() for text, value in texts.items()]
    shown = []
    for field, text, value in every[offset : offset + PAGE_SIZE]:
        label, choices = field_choices_of(field, lang)
        key = f"{field}{_SEPARATOR}{text}"
        shown.append({"key": key, "field": label, "text": text, "value": dict(choices).get(str(value), value)})
    return page(
        request,
        "words.html",
        session=session,
        words=shown,
        offset=offset,
        size=PAGE_SIZE,
        total=len(every),
    )


def _remove(request: Request, session: Session, form: Form) -> None:
    write = write_of(request, session)
    chosen = [key.partition(_SEPARATOR) for key in form.getlist("word") if _SEPARATOR in key]
    sent = OwnWordsInput(remove=[OwnWordKey(field=field, text=text) for field, _, text in chosen])

    def work(conn: Connection) -> None:
        change_words(conn, write.company_id, sent, origin=write.origin, now=write.now)

    write.service.writes.run(write.company_id, work)
