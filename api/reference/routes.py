"""/reference: the pages over HTTP. Rendered when the first of them is asked for; no part of the document."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from api.answers import kept
from api.errors import InvalidBody, NotFound
from api.reference.pages import render
from pipelines.steps.template import template
from schemas.issues import Issue
from schemas.labels import LANGUAGES
from schemas.normalise import shown

router = APIRouter(prefix="/reference", include_in_schema=False)

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_STYLE: Final = (files("api.reference") / "style.css").read_bytes()
_STYLE_NAME: Final = "style.css"
_KEPT_SECONDS: Final = 300
_XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@router.get("/template.xlsx")
def get_template(request: Request) -> Response:
    """The workbook to fill in and import, in the language `lang` (en, fr or de; en without it)."""
    lang = request.query_params.get("lang", LANGUAGES[0])
    if lang not in LANGUAGES:
        sentence = f"{shown(lang)} is no language of the template; send one of: {', '.join(LANGUAGES)}."
        raise InvalidBody([Issue("not_in_vocabulary", sentence, "lang")])
    named = {"Content-Disposition": f'attachment; filename="packaging-{lang}.xlsx"', **_HEADERS}
    return kept(request, template(lang), _XLSX, seconds=_KEPT_SECONDS, headers=named)


@router.get("")
@router.get("/{page}")
def reference(request: Request) -> Response:
    """One page of the reference, or its style sheet."""
    name = request.path_params.get("page", "")
    pages = _rendered(request.app)
    if name not in pages:
        raise NotFound
    media_type = "text/css" if name == _STYLE_NAME else "text/html"
    return kept(request, pages[name], media_type, seconds=_KEPT_SECONDS, headers=_HEADERS)


def _rendered(app: FastAPI) -> Mapping[str, bytes]:
    """Every page and the style sheet by the last part of its path."""
    if not hasattr(app.state, "reference"):
        pages = {name: page.encode() for name, page in render(app.openapi()).items()}
        app.state.reference = {**pages, _STYLE_NAME: _STYLE}
    held: Mapping[str, bytes] = app.state.reference
    return held
