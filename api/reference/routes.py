"""/reference: the pages over HTTP. Rendered when the first of them is asked for; no part of the document."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from api.answers import kept
from api.errors import NotFound
from api.reference.pages import render

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
