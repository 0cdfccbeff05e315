"""Signs staff in and out, protected against guessing and forged forms as people's sign-in is (`api.pages.sign_in`).

An unknown account, a disabled one and a wrong password get the same words after the same work.
"""

from typing import Final
from urllib.parse import quote, urlencode
from uuid import UUID

from anyio import to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.pages.credentials import Credentials, compare, credentials_of
from api.pages.forms import read_form_with_token, read_visitor_form
from api.pages.render import language_of, page, redirect
from api.pages.sessions import end
from api.pages.sign_in import local_path, sign_in_form
from api.pages.texts import text
from api.service import Service, service_of
from api.staff import sessions
from api.staff.sessions import Member
from warehouse.dagster_home import PREFIX
from warehouse.staff import queries as staff

router = APIRouter(include_in_schema=False)

HOME: Final = "/staff"
SIGN_IN: Final = "/staff/sign-in"
RUNS: Final = "/staff/runs"
_IMPORT_TAG: Final = "pcds/import_id"
"""`pipelines.engine.tags.IMPORT`, which the API cannot import, because it does not import Dagster."""


def address_of_import_runs(import_id: UUID) -> str:
    """Return the address of an import's runs: Dagster's Runs page, filtered by tag."""
    return f"{PREFIX}/runs?{urlencode({'q[0]': f'tag:{_IMPORT_TAG}={import_id}'}, safe='[]:/=')}"


def to_sign_in(back: str) -> Response:
    """Redirect to the sign-in page, which leads back to a path under /dagster."""
    return redirect(f"{SIGN_IN}?next={quote(back, safe='')}")


@router.get(HOME)
async def get_home(request: Request) -> Response:
    """Show the signed-in member, the link to Dagster, and the sign-out form."""
    member = await sessions.member_of(request)
    return to_sign_in(HOME) if member is None else _home(request, member)


@router.get(RUNS)
async def get_runs(request: Request) -> Response:
    """Redirect to the runs of the import with the given id, as its company quotes it."""
    member, given = await sessions.member_of(request), request.query_params.get("import", "").strip()
    if member is None:
        return to_sign_in(HOME)
    try:
        return redirect(address_of_import_runs(UUID(given)))
    except ValueError:
        return _home(request, member, unknown_import=given)


@router.get(SIGN_IN)
async def get_sign_in(request: Request) -> Response:
    """Show the form; a signed-in member is redirected."""
    back = _target(request.query_params.get("next", ""))
    if await sessions.member_of(request) is not None:
        return redirect(back)
    return sign_in_form(request, "staff_sign_in.html", SIGN_IN, back)


@router.post(SIGN_IN)
async def post_sign_in(request: Request) -> Response:
    """Exchange email and password for a session, and redirect to the requested page."""
    form = await read_visitor_form(request)
    sent, back = credentials_of(form), _target(form.get("next", ""))
    found, is_right = await compare(request, staff.attempt, sent) if sent else (None, False)
    if not (found and is_right):
        return sign_in_form(request, "staff_sign_in.html", SIGN_IN, back, refused=sent or Credentials("", ""))
    token = await to_thread.run_sync(_begin_session, service_of(request), found)
    await _end_session(request)
    answer = redirect(back)
    sessions.remember(request, answer, token)
    return answer


@router.post("/staff/sign-out")
async def post_sign_out(request: Request) -> Response:
    """End the session in the browser and in the database."""
    member = await sessions.member_of(request)
    if member is not None:
        await read_form_with_token(request, member.csrf)
        await _end_session(request)
    answer = redirect(SIGN_IN)
    sessions.forget(request, answer)
    return answer


def _home(request: Request, member: Member, *, unknown_import: str | None = None) -> Response:
    """Show the page; `unknown_import` is a text sent as the id of an import that is none."""
    faults = [] if unknown_import is None else [("import", text("staff.no_import", language_of(request)))]
    return page(
        request,
        "staff.html",
        status=422 if faults else 200,
        member=member,
        dagster=PREFIX,
        runs=RUNS,
        faults=faults,
        given={"import": unknown_import or ""},
    )


def _target(sent: str) -> str:
    """Return the path to show after the sign-in; Dagster's first page for any that is not for staff."""
    path = local_path(sent)
    return path if path and (path in (HOME, PREFIX) or path.startswith(f"{PREFIX}/")) else PREFIX


def _begin_session(service: Service, found: staff.Attempt) -> str:
    """Return the token of a new session."""
    assert found.staff_id is not None
    with service.writes.system() as connection:
        return staff.begin(connection, found.staff_id, service.clock.now())


async def _end_session(request: Request) -> None:
    """End the session of the request's cookie, where it has one."""
    if token := sessions.token_of(request):
        await end(request, staff.end, token)
