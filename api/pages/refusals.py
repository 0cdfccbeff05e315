"""What a person sees where a page refuses: one plain page, or the sign-in page where nobody is signed in."""

from collections.abc import Mapping

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.errors import Refused, Stopping
from api.pages.render import page
from api.pages.sessions import SignInFirst


class PageRefused(Exception):  # noqa: N818  (an answer to a person, not a fault of the program)
    """The request is refused in words: `key` is the text that says why and what would be right."""

    def __init__(self, status: int, key: str, *, headers: Mapping[str, str] | None = None, **gaps: object) -> None:
        """`gaps` fill those of the text."""
        super().__init__(key)
        self.status, self.code, self.headers, self.gaps = status, key, dict(headers or {}), gaps


def install(app: FastAPI) -> None:
    """Register the handlers."""
    app.add_exception_handler(SignInFirst, _to_sign_in)
    app.add_exception_handler(PageRefused, _refused)


def asks_for_page(request: Request) -> bool:
    """Whether a person's browser asks: programs take JSON, or do not say what they take."""
    return "text/html" in request.headers.get("accept", "")


def fault_page(request: Request, refused: Refused) -> Response:
    """What a person sees where a fault of ours, or a stop, ended the request."""
    key = "refused.stopping" if isinstance(refused, Stopping) else "refused.fault"
    answer = page(request, "refused.html", status=500, key=key, gaps={"number": request.state.correlation_id})
    answer.headers.update(refused.headers)
    return answer


async def _to_sign_in(_: Request, error: Exception) -> Response:
    assert isinstance(error, SignInFirst)
    return RedirectResponse(error.address, 303, {"Cache-Control": "no-store"})


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, PageRefused)
    answer = page(request, "refused.html", status=error.status, key=error.code, gaps=error.gaps)
    answer.headers.update(error.headers)
    return answer
