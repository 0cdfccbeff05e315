"""Routes of all pages, the one style sheet and the one script; none is in the OpenAPI document."""

from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import evidence, marks
from api.accounts import pages as pages_accounts
from api.accounts import sign_in
from api.assistants import pages as pages_assistants
from api.audit import pages as pages_audit
from api.changes import pages as pages_changes
from api.companies import pages as pages_companies
from api.conformity import pages as pages_conformity
from api.figures import pages as pages_figures
from api.figures import routes as routes_figures
from api.files import pages as pages_files
from api.filings import pages as pages_filings
from api.http.answers import cacheable
from api.imports import corrections_pages, words_pages
from api.imports import pages as pages_imports
from api.library import routes as library
from api.pages.render import SCRIPT, STYLE
from api.registers import routes as registers
from api.review import pages as pages_review
from api.roles import routes as roles
from api.skus import edit
from api.skus import pages as pages_skus
from api.statements import pages as pages_statements
from api.suppliers import enquiry_pages, supplier_pages
from api.suppliers import pages as pages_suppliers

router = APIRouter(include_in_schema=False)
for pages in (
    sign_in.router,
    pages_assistants.router,
    supplier_pages.router,
    enquiry_pages.router,
    pages_conformity.drafts_router,
    pages_conformity.declarations_router,
    pages_review.router,
    pages_conformity.router,
    pages_files.router,
    pages_suppliers.router,
    library.pages_router,
    pages_figures.router,
    routes_figures.pages_router,
    roles.pages_router,
    registers.pages_router,
    marks.pages_router,
    evidence.pages_router,
    pages_statements.router,
    pages_skus.router,
    pages_skus.archive_router,
    edit.router,
    pages_skus.item_router,
    pages_filings.router,
    pages_imports.upload_router,
    corrections_pages.router,
    pages_imports.router,
    words_pages.router,
    pages_accounts.router,
    pages_companies.router,
    pages_changes.router,
    pages_audit.router,
):
    router.routes.extend(pages.routes)

_SHEET: Final = (files("api.pages") / "style.css").read_bytes()
_SCRIPT: Final = (files("api.pages") / "live.js").read_bytes()
_KEPT_SECONDS: Final = 300
_AS_SENT: Final = {"X-Content-Type-Options": "nosniff"}


@router.get(STYLE)
async def get_style(request: Request) -> Response:
    """Return the style sheet of all pages."""
    return cacheable(request, _SHEET, "text/css", seconds=_KEPT_SECONDS, headers=_AS_SENT)


@router.get(SCRIPT)
async def get_script(request: Request) -> Response:
    """Return the script of pages that wait."""
    return cacheable(request, _SCRIPT, "text/javascript", seconds=_KEPT_SECONDS, headers=_AS_SENT)
