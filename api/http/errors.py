"""Exceptions of refusals, with status and code, and the body with which all of them answer.

    HttpRefusal
    ├── Unauthenticated   401  missing_api_key, invalid_api_key, invalid_token
    ├── Forbidden         403  insufficient_scope
    ├── WithoutAuditLog   403  plan_limit_reached
    ├── VersionConflict   412  version_conflict
    ├── WrongMethod       405  not_found
    ├── TooLarge          413  payload_too_large
    ├── Encoded           415  invalid_body
    ├── RateLimited       429  rate_limited
    ├── TokenRefused      4xx  the codes of RFC 6749, section 5.2, and rate_limited
    ├── Fault             500, 503 where it passes  internal_error
    └── Stopping          500  internal_error

The codes and their meanings are in `schemas.refusals`. Handlers and operations raise the two refusals of
`schemas.refusals` for what is wrong in a request and for what is not there; `api.http.refusals` answers these, and the
framework's errors, as one of the classes here.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import ClassVar, Final

from starlette.responses import Response

from api.http.answers import JsonAnswer
from pipelines.writing.write import PlanLimitReached, StorageFull
from schemas.issues import first_hundred
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import Message
from schemas.refusals import ERROR_CODES, NotThere, Refused, other_version
from warehouse.answers import ReusedKey
from warehouse.operate.surroundings import PASSING, RETRY_AFTER_SECONDS

NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
"""Headers of every answer about a token (RFC 6749, section 5.1)."""


class HttpRefusal(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """An answer other than success. `details` are published unchanged."""

    status: int | None = None
    """The status where it differs from the code's own."""

    def __init__(
        self,
        code: str,
        message: str | None = None,
        *,
        details: Sequence[JsonMapping] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`code` is one of `ERROR_CODES`; without a message its meaning is sent."""
        super().__init__(message or ERROR_CODES[code].meaning)
        self.code, self.details, self.headers = code, details, dict(headers or {})

    def response(self, correlation_id: str) -> Response:
        """Return the answer, with the status of the code or of the class."""
        status = self.status or ERROR_CODES[self.code].status
        return JsonAnswer(self.body(correlation_id), status, self.headers)

    def body(self, correlation_id: str) -> JsonObject:
        """Return the error body of the contract, with `message` added to it."""
        body: JsonObject = {"error": self.code, "correlationId": correlation_id, "message": str(self)}
        if self.details is not None:
            body["details"] = list(self.details)
        return body


class Unauthenticated(HttpRefusal):
    """No credential, or an invalid one; RFC 9110 requires the challenge, RFC 6750 defines the one for bearer tokens."""

    _CHALLENGES: ClassVar[Mapping[str, str]] = {
        "missing_api_key": 'ApiKey realm="api", header="X-API-Key", Bearer realm="api"',
        "invalid_api_key": 'ApiKey realm="api", header="X-API-Key"',
        "invalid_token": 'Bearer error="invalid_token"',
    }

    def __init__(self, code: str) -> None:
        """`code` is missing_api_key, invalid_api_key or invalid_token."""
        super().__init__(code, headers={"WWW-Authenticate": self._CHALLENGES[code]})


class Forbidden(HttpRefusal):
    """The credential is valid but does not allow this operation."""

    def __init__(self, scope: str, message: Message | None = None) -> None:
        """`scope` is the missing one; a `message` says what else the credential lacks."""
        super().__init__(
            "insufficient_scope",
            message or Message("This operation needs the scope {scope}, which the credential lacks.", scope=scope),
            headers={"WWW-Authenticate": f'Bearer realm="api", error="insufficient_scope", scope="{scope}"'},
        )


class WithoutAuditLog(HttpRefusal):
    """The company's plan does not include the audit log (interface v1, Authentication 10)."""

    def __init__(self) -> None:
        """Nothing is counted here, so that no limits are reported."""
        message = Message("The plan of this company does not include the audit log; the enterprise plan does.")
        super().__init__("plan_limit_reached", message, details=[{"code": "plan_limit_reached", "message": message}])


class VersionConflict(HttpRefusal):
    """The SKU has another version than If-Match names, or exists against If-None-Match; nothing was written.

    `ETag` names the stored version.
    """

    def __init__(self, version: int | None, *, create_only: bool = False, is_weak: bool = False) -> None:
        """`version` is the stored one; None where the SKU is not stored. With `create_only` it should not be.

        `is_weak` where only weak tags were sent, one of them of the stored version.
        """
        self.version = version
        if version is None:
            message = Message("The SKU is not stored, so that no version of it can match.")
            super().__init__("version_conflict", message)
            return
        message = (
            Message(
                "If-Match holds a weak tag (W/…), which no version matches; a proxy that compresses makes one. Send "
                "the tag without W/."
            )
            if is_weak and not create_only
            else other_version(version, create_only=create_only)
        )
        super().__init__("version_conflict", message, headers={"ETag": f'"{version}"'})


class WrongMethod(HttpRefusal):
    """The path is known, the method is not."""

    status = HTTPStatus.METHOD_NOT_ALLOWED

    def __init__(self, allowed: Sequence[str]) -> None:
        """Take all methods of the path."""
        methods = ", ".join(sorted({*allowed, *(["HEAD"] if "GET" in allowed else [])}))
        super().__init__(
            "not_found", Message("This path takes {methods}.", methods=methods), headers={"Allow": methods}
        )


class TooLarge(HttpRefusal):
    """More bytes than the operation accepts."""

    def __init__(self, limit: int) -> None:
        """`limit` in bytes."""
        super().__init__("payload_too_large", Message("At most {limit} bytes are taken here.", limit=limit))


class Encoded(HttpRefusal):
    """A body with a content coding, such as gzip; `Accept-Encoding` says what is taken (RFC 9110, section 12.5.3)."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE

    def __init__(self) -> None:
        """Name the header at fault."""
        message = Message("A body is taken without a content coding; send it without Content-Encoding.")
        issue = {"field": "Content-Encoding", "code": "unsupported_media_type", "message": message}
        super().__init__("invalid_body", message, details=[issue], headers={"Accept-Encoding": "identity"})


class RateLimited(HttpRefusal):
    """The key and its tokens have used up their requests for now; the request was neither counted nor handled."""

    def __init__(self, retry_after: int) -> None:
        """`retry_after` is whole seconds, at least 1: the next request then has room, if no other takes it."""
        super().__init__("rate_limited", headers={"Retry-After": str(retry_after)})


class TokenRefused(HttpRefusal):
    """An error of the token endpoint (RFC 6749, section 5.2): the common error body and its `error_description`.

    Messages are printable ASCII without quotation marks and backslashes, as the section requires. Never to be cached.
    """

    def __init__(self, code: str, message: str | None = None, *, headers: Mapping[str, str] | None = None) -> None:
        """`headers` are sent beside those that forbid caching."""
        super().__init__(code, message, headers={**NO_STORE, **(headers or {})})

    def body(self, correlation_id: str) -> JsonObject:
        """Return the error body, with the message as its description."""
        return super().body(correlation_id) | {"error_description": str(self)}


class Fault(HttpRefusal):
    """A fault of the service: the answer reveals nothing of it; the log line of the correlation id has everything."""

    def __init__(self, *, passing: bool = False) -> None:
        """Take no message on purpose; a fault that is `passing` is the machine's, and says when to come again."""
        if not passing:
            super().__init__("internal_error")
            return
        super().__init__("internal_error", PASSING, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
        self.status = HTTPStatus.SERVICE_UNAVAILABLE


class Stopping(HttpRefusal):
    """The process had to end before the request was done: a write may or may not have been stored."""

    def __init__(self) -> None:
        """Another process, or this one started again, answers in a few seconds."""
        message = Message(
            "The service is being stopped and did not finish this request; send it again, a write with the same "
            "Idempotency-Key."
        )
        super().__init__("internal_error", message, headers={"Retry-After": "5"})


_AGAIN_SECONDS: Final = 5
"""After which a company may ask again for what it has under way; undoing an import takes two to three seconds."""
SHOWN_IN_FORM: Final = (HttpRefusal, Refused, PlanLimitReached, ReusedKey)
"""Every refusal of something that is there: a form is shown again with it."""
REFUSALS: Final = (*SHOWN_IN_FORM, NotThere)
"""Every refusal that a handler may raise."""


def http_refusal(error: Exception) -> HttpRefusal:
    """Return one of `REFUSALS` as it is answered: code, sentence, and each issue in `details`."""
    match error:
        case HttpRefusal():
            return error
        case PlanLimitReached():
            return _over_plan(error)
        case ReusedKey():
            return HttpRefusal("idempotency_key_reuse")
        case Refused(code="rate_limited"):
            return RateLimited(_AGAIN_SECONDS)
        case Refused():
            details = [issue.as_dict() for issue in first_hundred(error.issues)]
            answer = HttpRefusal(error.code, error.sentence, details=details)
            if any(issue.code == "unsupported_media_type" for issue in error.issues):
                answer.status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE  # interface v1, Errors: a code of an invalid body
            return answer
    return HttpRefusal("not_found")


def _over_plan(reached: PlanLimitReached) -> HttpRefusal:
    """Return the refusal of a write that would exceed the plan's limit of SKUs, or of bytes of files.

    Of SKUs, `new` counts the distinct new codes of the whole body or file.
    """
    numbers = {"limit": reached.limit, "held": reached.held, "new": reached.new}
    message = (
        str(reached)
        if isinstance(reached, StorageFull)
        else Message("The plan holds {limit} SKUs; {held} are held and the request brings {new} new ones.", **numbers)
    )
    issue = {"code": "plan_limit_reached", **numbers, "message": message}
    return HttpRefusal("plan_limit_reached", message, details=[issue])
