"""The codes of whole answers: what `error` can say, with which status, and what it means.

One table for the handlers, the published document and the reference. Codes of single faults inside an
`invalid_body` are not here but in `schemas.issues`.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One stable code. `status` is the status it is sent with; the sentence says when (interface v1, Errors)."""

    status: int
    meaning: str


ERROR_CODES: Final[dict[str, ErrorCode]] = {
    "missing_api_key": ErrorCode(401, "There is no X-API-Key header, or its value does not begin with svc_."),
    "invalid_api_key": ErrorCode(401, "The key is unknown or revoked."),
    "invalid_token": ErrorCode(401, "The bearer token is malformed, expired, or its key was revoked."),
    "rate_limited": ErrorCode(429, "More requests than the limit allows; wait for the seconds in Retry-After."),
    "insufficient_scope": ErrorCode(403, "The credential lacks the scope that the operation needs."),
    "plan_limit_reached": ErrorCode(403, "The write would pass the number of SKUs that the plan holds."),
    "not_found": ErrorCode(404, "The company has no such record, or the service no such operation."),
    "invalid_body": ErrorCode(400, "The body or a parameter is not valid; `details` names each fault."),
    "idempotency_key_reuse": ErrorCode(409, "The Idempotency-Key was used for another payload in the last 24 hours."),
    "payload_too_large": ErrorCode(413, "The body is larger than the operation takes."),
    "not_implemented": ErrorCode(501, "The operation is documented but not served in this environment."),
    "internal_error": ErrorCode(500, "A fault of the service; quote the correlationId to support."),
    "invalid_request": ErrorCode(400, "Token endpoint: a required parameter is missing or the request is malformed."),
    "invalid_client": ErrorCode(401, "Token endpoint: the client is unknown, its secret wrong, or it was revoked."),
    "unsupported_grant_type": ErrorCode(400, "Token endpoint: only client_credentials is served."),
    "invalid_scope": ErrorCode(400, "Token endpoint: the scope is unknown or not held; valid are read and write."),
}
"""Every code that is answered today; v1 is additive, so that a client treats an unknown code by its status."""
