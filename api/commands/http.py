"""HTTP client of the commands: sends requests with one key, parses JSON answers, repeats requests where that is safe.

What belongs here: connections, waiting, and refusals as one sentence. What does not: which requests a command sends,
and the server's side.
"""

from collections.abc import Mapping
from typing import Final, cast
from uuid import uuid4

import orjson
import urllib3

from api.commands.shared import Refusal
from api.commands.summary import options_of
from schemas.errors import ERROR_CODES
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import ORIGINAL, Message, translate
from schemas.report import Asked

_RETRY: Final = urllib3.Retry(
    8,
    connect=4,
    redirect=False,
    status_forcelist=(429, 502, 503, 504),
    allowed_methods=None,
    backoff_factor=0.5,
    backoff_max=8,
    retry_after_max=120,
    raise_on_status=False,
)
"""Repeats on broken connections and temporary refusals, after `Retry-After` (seconds) where it is sent. Every method is
repeated, POST too: a request that writes has an Idempotency-Key. Redirects are not followed: they would pass the key
on.
"""
_TIMEOUT: Final = urllib3.Timeout(connect=5, read=120)
_FAULTS_SHOWN: Final = 5


class Client:
    """The service at a base address, for the holder of one API key, in one language.

    Answers are JSON of another program: their members are `Any` until the caller says which answer it asked for.
    """

    def __init__(self, base_url: str, key: str, lang: str = ORIGINAL) -> None:
        """`base_url` is http or https, with or without a slash at its end. No request is sent yet."""
        self._lang = lang
        self._base_url = base_url.rstrip("/")
        self._http = urllib3.PoolManager(retries=_RETRY, timeout=_TIMEOUT)
        self._headers = {"X-API-Key": key, "Accept-Language": lang}

    def get(self, path: str, **query: object) -> JsonObject:
        """Return the answer to a read. Raise `Refusal` where it is refused or nobody answers."""
        return self._request("GET", path, fields=query)

    def send(self, path: str, parts: Mapping[str, object]) -> JsonObject:
        """Return the answer to a multipart write, done once however often it is repeated. Raise `Refusal`."""
        return self._request("POST", path, fields=parts, headers={"Idempotency-Key": str(uuid4())})

    def post(self, path: str, body: JsonMapping) -> JsonObject:
        """Return the answer to a write of JSON, done once as `send` does. Raise `Refusal`."""
        return self._request("POST", path, json=dict(body), headers={"Idempotency-Key": str(uuid4())})

    def _request(
        self,
        method: str,
        path: str,
        *,
        fields: JsonMapping | None = None,
        json: JsonMapping | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, object]:
        try:
            answer = self._http.request(
                method,
                self._base_url + path,
                fields=None if fields is None else dict(fields),
                json=json,
                headers={**self._headers, **(headers or {})},
            )
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            no_answer = f"No service answers at {self._base_url} ({_reason(error)})"
            raise Refusal(f"{no_answer}; start it with `pcds serve`, or say with --url where it is.") from None
        try:
            body = orjson.loads(answer.data)
        except orjson.JSONDecodeError:
            body = None
        if not isinstance(body, dict):
            raise Refusal(f"What answers at {self._base_url} is not this service (status {answer.status}).")
        if answer.status >= 300:
            raise Refusal(_sentence(answer.status, body, self._lang))
        return body


def _detail(detail: JsonMapping) -> str:
    """Return a fault's sentence; with what settles it where it is a question about a file."""
    sentence = str(detail.get("message"))
    if not detail.get("answer"):
        return sentence
    return " ".join([sentence, *options_of(cast(Asked, detail))])


def _reason(error: Exception) -> str:
    """Return the kind of the last fault; its text would show addresses of objects."""
    return type(getattr(error, "reason", None) or error).__name__


def _sentence(status: int, body: JsonMapping, lang: str) -> str:
    """Return a refusal's sentence and its remedy; for a fault of the service, with the id that support needs."""
    code = str(body.get("error", f"status {status}"))
    details = list(dict.fromkeys(map(_detail, body.get("details") or ())))
    if details:
        more = (
            [translate(Message("There are {count} more faults.", count=len(details) - _FAULTS_SHOWN), lang)]
            if len(details) > _FAULTS_SHOWN
            else []
        )
        return " ".join([*details[:_FAULTS_SHOWN], *more])
    message = str(body.get("message") or code)
    remedy = f" {translate(ERROR_CODES[code].remedy, lang)}" if code in ERROR_CODES else ""
    correlation = f" correlationId {body.get('correlationId')}." if status >= 500 else ""
    return f"{message}{remedy}{correlation}"
