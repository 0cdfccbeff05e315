"""API keys page for administrators: which ones there are, their last use, ending one, and making test keys.

`pcds key` makes all others: they reach the company's data, a test key its sandbox alone.
"""

from uuid import UUID, uuid4

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.service import Service, service_of
from api.pages.forms import origin_of, path_id, read_form
from api.pages.refusals import PageRefused
from api.pages.render import link, page, redirect
from api.pages.sessions import Administrator, Session
from schemas import texts
from schemas.actors import Actor
from schemas.refusals import NotThere
from schemas.vocabularies import VOCABULARIES
from services.companies import make
from warehouse.accounts import keys
from warehouse.audit import ledger
from warehouse.companies import queries as companies
from warehouse.companies import sandboxes
from warehouse.operate.sessions import owner_transaction

router = APIRouter(prefix="/keys")

_LONGEST_NAME = 100


@router.get("")
def get_keys(request: Request, session: Administrator) -> Response:
    """List the company's keys, those that count first, and then those of its sandbox."""
    return _page(request, session)


def _page(request: Request, session: Session, issued: str | None = None) -> Response:
    service = service_of(request)
    with service.writes.company(session.company_id) as conn:
        found = keys.with_use(conn)
    sandbox = _sandbox_of(service, session.company_id)
    tests: list[keys.KeyUse] = []
    if sandbox is not None:
        with service.writes.company(sandbox) as conn:
            tests = keys.with_use(conn)
    may_issue = _may_have_keys(service, session.company_id)
    return page(request, "keys.html", session=session, keys=found, tests=tests, issued=issued, may_issue=may_issue)


def _sandbox_of(service: Service, company_id: UUID) -> UUID | None:
    with service.writes.system() as conn:
        return sandboxes.of(conn, company_id)


def _may_have_keys(service: Service, company_id: UUID) -> bool:
    with service.writes.company(company_id) as conn:
        found = companies.of(conn, company_id)
        return found is not None and companies.allows_keys(conn, found[1])


@router.post("/test")
async def post_test_key(request: Request, session: Administrator) -> Response:
    """Make a test key, and the sandbox where there is none; the page shows the key once."""
    form = await read_form(request, session)
    return await run_in_threadpool(_issue_test, request, session, form.get("name", ""))


def _issue_test(request: Request, session: Session, sent: str) -> Response:
    service, name = service_of(request), texts.plain(sent).strip()[:_LONGEST_NAME]
    if not name:
        raise PageRefused(400, "keys.test.name.missing")
    if not _may_have_keys(service, session.company_id):
        raise PageRefused(403, "keys.test.plan")
    origin, now, key, client_id = origin_of(request, session), service.clock.now(), keys.new_key(is_test=True), uuid4()
    with owner_transaction(service.database.owner_url) as owner:
        sandbox = make(owner, session.company_id, origin=origin, now=now)
    scopes = list(VOCABULARIES["scope"])
    with service.writes.company(sandbox) as conn:
        keys.issue(conn, sandbox, client_id, key=key, name=name, scopes=scopes, at=now)
        after = {"name": name, "scopes": scopes}
        ledger.enter(conn, Actor(sandbox, origin, now), "api_key.issued", client_id, before=None, after=after)
    return _page(request, session, issued=key)


@router.post("/{id}/revoke")
async def post_revoke(request: Request, session: Administrator) -> Response:
    """End a key, of the company or of its sandbox: its next request is refused."""
    await read_form(request, session)
    await run_in_threadpool(_revoke, request, session)
    return redirect(link(request, "/keys"))


def _revoke(request: Request, session: Session) -> None:
    service, client_id = service_of(request), path_id(request)
    now = service.clock.now()
    for company_id in (session.company_id, _sandbox_of(service, session.company_id)):
        if company_id is None:
            continue
        with service.writes.company(company_id) as conn:
            if not keys.revoke(conn, client_id, now):
                continue
            ledger.enter(
                conn,
                Actor(company_id, origin_of(request, session), now),
                "api_key.revoked",
                client_id,
                before={"revoked_at": None},
                after={"revoked_at": now.isoformat()},
            )
            return
    raise NotThere
