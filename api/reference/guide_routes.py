"""/reference/guides: the guides, a search in them by `?q=`, and the pictures that they show."""

from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.answers import cacheable
from api.errors import HttpRefusal
from api.reference.guide_search import MOST, search
from api.reference.guides import FOLDER, GROUPS, guides
from api.reference.headers import HEADERS, KEPT_SECONDS
from api.reference.pages import framed

router = APIRouter(prefix="/reference/guides", include_in_schema=False)

_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Final = {**HEADERS, "Content-Security-Policy": _POLICY, "Content-Language": "en"}


@router.get("")
def get_guides(request: Request) -> Response:
    """All guides, or where the words of `q` stand in them."""
    question = request.query_params.get("q", "").strip()
    given = {"question": question, "hits": search(question), "most": MOST, "groups": GROUPS, "guides": guides()}
    return _page(request, "guides.html", given)


@router.get("/{name}")
def get_guide(request: Request, name: str) -> Response:
    """One guide."""
    if name not in guides():
        raise HttpRefusal("not_found")
    return _page(request, "guide.html", {"guide": guides()[name]})


@router.get("/{folder}/{picture}")
def get_picture(request: Request, folder: str, picture: str) -> Response:
    """A picture that a guide shows."""
    name = f"{folder}/{picture}"
    if not any(name in guide.pictures for guide in guides().values()):
        raise HttpRefusal("not_found")
    return cacheable(request, (FOLDER / name).read_bytes(), "image/png", seconds=KEPT_SECONDS, headers=HEADERS)


def _page(request: Request, template: str, given: Mapping[str, object]) -> Response:
    text = framed(request.app.openapi(), template, {"page": "guides", **given})
    return cacheable(request, text.encode(), "text/html", seconds=KEPT_SECONDS, headers=_HEADERS)
