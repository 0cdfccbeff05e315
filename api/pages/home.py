"""The root address: redirects a person to the portfolio, answers a program with not found."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.errors import NotFound
from api.pages.refusals import is_for_people
from api.pages.render import link, redirect
from api.pages.sign_in import HOME

router = APIRouter()


@router.get("/")
async def get_home(request: Request) -> Response:
    """Redirect to the portfolio, which leads to the sign-in page where nobody is signed in."""
    if not is_for_people(request):
        raise NotFound
    return redirect(link(request, HOME), {"Vary": "Accept"})
