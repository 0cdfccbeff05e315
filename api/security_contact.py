"""/.well-known/security.txt (RFC 9116): whom somebody tells who has found a weakness, where the operator has set it."""

from datetime import timedelta
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from api.errors import HttpRefusal
from api.service import service_of
from schemas.labels import LANGUAGES

PATH: Final = "/.well-known/security.txt"
_HOLDS: Final = timedelta(days=180)
"""RFC 9116, 2.5.5 asks for an end, and recommends less than a year."""

router = APIRouter(include_in_schema=False)


@router.get(PATH)
async def security_contact(request: Request) -> Response:
    """Answer the contact of `PCDS_SECURITY_CONTACT`; 404 without it."""
    service = service_of(request)
    if service.settings.security_contact is None:
        raise HttpRefusal("not_found")
    expires = (service.clock.now() + _HOLDS).replace(microsecond=0).isoformat().replace("+00:00", "Z")
    lines = (
        f"Contact: {service.settings.security_contact}",
        f"Expires: {expires}",
        f"Preferred-Languages: {', '.join(LANGUAGES)}",
        f"Canonical: {service.settings.base_url}{PATH}",
    )
    return PlainTextResponse("\n".join(lines) + "\n", headers={"Cache-Control": "public, max-age=3600"})
