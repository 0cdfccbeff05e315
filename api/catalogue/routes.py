"""GET /jurisdictions: lists the catalogue, without a credential. An entry's depth is computed for the current day."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import as_json, cacheable
from api.http.auth import Credential, admit, optional_credential
from api.http.parameters import Limit, Offset
from api.http.service import service_of
from api.openapi.document import PUBLIC_ERRORS, V1, operation
from compliance import catalogue
from compliance.representatives import published_entry
from schemas.rules import JurisdictionListResponse
from warehouse import catalogue as catalogue_warehouse

router = APIRouter(prefix=f"{V1}/jurisdictions", tags=["Jurisdictions"])

_KEPT_SECONDS: Final = 300


@router.get(
    "",
    **operation(
        "List jurisdictions",
        answers={200: JurisdictionListResponse},
        errors=("invalid_api_key", "invalid_token", *PUBLIC_ERRORS),
        kept=True,
    ),
)
async def list_jurisdictions(
    request: Request,
    credential: Annotated[Credential | None, Depends(optional_credential)],
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """The EPR catalogue by code. `depth`: 1 signalled, 2 sourced, 3 guided (reviewed by a lawyer within 18 months).

    `coverage` counts the whole catalogue, not the page. Never an amount of a fee or a legal opinion. No credential is
    needed; one that is sent is checked and counted as everywhere. The answer may be kept for five minutes.
    """
    if credential is not None:
        await admit(request, credential, "read")
    service = service_of(request)
    entries = catalogue.served(await service.reads.run(catalogue_warehouse.read_every))
    today = service.clock.today()
    page = {
        "data": [published_entry(entry, today) for entry in entries[offset : offset + limit]],
        "coverage": catalogue.coverage(entries, today),
        "pagination": {"limit": limit, "offset": offset, "total": len(entries)},
    }
    asked_by = {"Vary": "X-API-Key, Authorization"}
    return cacheable(request, as_json(page), "application/json", seconds=_KEPT_SECONDS, headers=asked_by)
