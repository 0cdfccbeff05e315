"""The two refusals of every operation: `Refused` says what is wrong, `NotThere` that the company has no such record.

Operations below the doors raise them and nothing else; each door answers them in its own form, in one place: REST and
pages in `api.http.refusals`, tools in `connector.tools`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from schemas.issues import Issue
from schemas.messages import Message

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One stable code: the status it is sent with, when it is sent (interface v1, Errors), and what to do then."""

    status: int
    meaning: str
    remedy: str


ERROR_CODES: Final[dict[str, ErrorCode]] = {
    "missing_api_key": ErrorCode(
        401,
        "There is no X-API-Key header, or its value does not begin with svc_.",
        "Send the header `X-API-Key: svc_…`, or `Authorization: Bearer …` with a token.",
    ),
    "invalid_api_key": ErrorCode(
        401,
        "The key is unknown or revoked.",
        "Check that the whole key is sent. A lost or revoked key is replaced by the operator, never recovered.",
    ),
    "invalid_token": ErrorCode(
        401,
        "The bearer token is malformed, expired, or its key was revoked.",
        "Request a new token; one lives 900 seconds and ends with its key.",
    ),
    "rate_limited": ErrorCode(
        429,
        "More requests than the limit allows; wait for the seconds in Retry-After.",
        "Wait for the seconds in `Retry-After`, then go on. For a migration, ask the operator for a window.",
    ),
    "insufficient_scope": ErrorCode(
        403,
        "The credential lacks the scope that the operation needs.",
        "Use a key or token with the scope that the message names.",
    ),
    "plan_limit_reached": ErrorCode(
        403,
        "The write would pass the number of SKUs that the plan holds, or the plan does not include the operation.",
        "Ask the operator for a larger plan, or send fewer new sku_codes; known ones cost nothing.",
    ),
    "not_found": ErrorCode(
        404,
        "The company has no such record, or the service no such operation.",
        "Check the id: it is the service's UUID, not your sku_code. Records of others answer the same.",
    ),
    "invalid_body": ErrorCode(
        400,
        "The body or a parameter is not valid; `details` names each fault.",
        "Correct what each entry of `details` names and send again; nothing was written.",
    ),
    "idempotency_key_reuse": ErrorCode(
        409,
        "The Idempotency-Key was used for another payload in the last 24 hours.",
        "Use a new key for a new payload, and an old one only to repeat its own request.",
    ),
    "not_conform": ErrorCode(
        409,
        "The declaration of conformity would contradict the item's own record.",
        "Correct the record where it is wrong; packaging that does not conform is not declared.",
    ),
    "already_declared": ErrorCode(
        409,
        "A first declaration of the same market, period, format and organisation is kept.",
        "Send `corrects` with the id of the declaration that the message names, or leave it as it is.",
    ),
    "sku_code_taken": ErrorCode(
        409,
        "Another SKU has the sku_code that a SKU would be given.",
        "Choose another code, or rename the other SKU first.",
    ),
    "sku_code_former": ErrorCode(
        409,
        "The sku_code is a former code of a SKU that was renamed; the message names its code of today.",
        "Send the code of today. Where the former code shall name a new SKU, free it first.",
    ),
    "name_taken": ErrorCode(
        409,
        "Another brand, site or supplier has the name.",
        "Choose another name, or use the record that has it.",
    ),
    "code_taken": ErrorCode(
        409,
        "Another shared component has the code.",
        "Choose another code, or use the component that has it.",
    ),
    "version_conflict": ErrorCode(
        412,
        "The SKU has another version than If-Match names.",
        "Read the SKU again, apply the change to what it is now, and send the new version in If-Match.",
    ),
    "payload_too_large": ErrorCode(
        413,
        "The body is larger than the operation takes.",
        "Split the batch or the file; the message names the limit in bytes.",
    ),
    "not_implemented": ErrorCode(
        501,
        "The operation is documented but not served in this environment.",
        "Use the synchronous writes (POST /skus, POST /skus/batch), or ask the operator for imports.",
    ),
    "internal_error": ErrorCode(
        500,
        "A fault of the service; quote the correlationId to support.",
        "Send the request again with the same Idempotency-Key; quote the correlationId if it stays.",
    ),
    "invalid_request": ErrorCode(
        400,
        "Token endpoint: a required parameter is missing or the request is malformed.",
        "Send grant_type, and client_id and client_secret either as HTTP Basic or in the body.",
    ),
    "invalid_client": ErrorCode(
        401,
        "Token endpoint: the client is unknown, its secret wrong, or it was revoked.",
        "Send the id of the key as client_id and the key itself as client_secret.",
    ),
    "invalid_grant": ErrorCode(
        400,
        "Token endpoint of the connector: the code or refresh token is unknown, expired or used, or the connection was "
        "revoked.",
        "Send the person through the authorisation again; a code is used once, within two minutes.",
    ),
    "unsupported_grant_type": ErrorCode(
        400,
        "Token endpoint: only client_credentials is served.",
        "Send `grant_type=client_credentials`.",
    ),
    "invalid_scope": ErrorCode(
        400,
        "Token endpoint: the scope is unknown or not held; valid are read and write.",
        "Send `read`, `write` or both separated by a space, or leave scope out for all that the key holds.",
    ),
}
"""Every code that is answered today. v1 is additive: a client treats an unknown code by its status."""


_INVALID: Final = "invalid_body"


class Refused(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """What was asked for is not done, and nothing was written; `code` is one of `ERROR_CODES`."""

    def __init__(self, issues: Sequence[Issue], code: str = _INVALID) -> None:
        """`issues` is never empty; each says what would be right."""
        super().__init__("; ".join(issue.message for issue in issues))
        self.issues, self.code = issues, code

    @property
    def sentence(self) -> str:
        """Return what the whole answer says: the meaning of its code, or the one issue that it is about."""
        return (
            self.issues[0].message
            if self.code != _INVALID and len(self.issues) == 1
            else ERROR_CODES[self.code].meaning
        )


class NotThere(LookupError):  # noqa: N818  (an answer, not a fault of the program)
    """The company has no such record; what another company has is answered alike."""


def require(record: T | None) -> T:
    """Return the record that was looked up. Raise `NotThere` where there is none."""
    if record is None:
        raise NotThere
    return record


def other_version(stored: int, *, create_only: bool) -> Message:
    """Return what a write hears that was made for another version of a SKU, or for none with `create_only`."""
    if create_only:
        return Message("The SKU exists and has version {version}; nothing was created.", version=stored)
    return Message(
        "The SKU has version {version} by now; read it, and send the change again for that version.", version=stored
    )
