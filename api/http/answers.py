"""Builds answers with a body: JSON from plain values, or JSON text that the database has already written."""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final  # Any: items of every list

import msgspec
import orjson
from starlette.requests import Request
from starlette.responses import Response

from schemas.json_values import Json, JsonMapping, json_number
from schemas.messages import LANGUAGES, ORIGINAL, stored_message, translate
from schemas.pages import Page


def as_json(value: Json) -> bytes:
    """Return a value as JSON: records of statements as they are, instants in UTC with `Z`, days and ids as texts.

    Decimals are numbers with every digit.
    """
    return orjson.dumps(value, default=json_number, option=orjson.OPT_UTC_Z)


class JsonAnswer(Response):
    """An answer of plain values as JSON, which keeps them until its messages are translated (`api.http.answers`)."""

    def __init__(self, value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Render the value by `as_json`."""
        super().__init__(as_json(value), status, headers, media_type="application/json")
        self.value = value


def json_of(value: Json, status: int = 200) -> JsonAnswer:
    """Return plain values as a JSON answer."""
    return JsonAnswer(value, status)


_RECORDS: Final = msgspec.json.Encoder(decimal_format="number")


def json_of_records(page: Page[Any]) -> Response:
    """Return a page of structs as JSON, with the values written as `as_json` writes them; no message is translated."""
    return Response(_RECORDS.encode(page), media_type="application/json")


def file_answer(filename: str, media_type: str, data: bytes, sha256: bytes) -> Response:
    """Return bytes to be stored as a file, with their SHA-256."""
    headers = {
        "Repr-Digest": f"sha-256=:{base64.b64encode(sha256).decode()}:",
        "Content-Disposition": f'attachment; filename="{filename}"',
        "Cache-Control": "private, no-store",
    }
    return Response(data, media_type=media_type, headers=headers)


def csv_answer(data: bytes, filename: str) -> Response:
    """Return the bytes of a CSV to be stored as a file."""
    headers = {"Content-Disposition": f'attachment; filename="{filename}"', "Cache-Control": "no-store"}
    return Response(data, media_type="text/csv; charset=utf-8", headers=headers)


def revalidated(request: Request, answer: Response) -> Response:
    """Return an answer with an entity tag of its bytes, or 304 where If-None-Match names it (RFC 9110 §13.1.2).

    For reads whose callers ask again and again; the tag is weak, because the bytes may be compressed on their way. The
    answer of a company is not to be stored by caches in between: the caller keeps its own copy.
    """
    tag = f'W/"{hashlib.sha256(answer.body).hexdigest()[:32]}"'
    answer.headers["ETag"] = tag
    return Response(status_code=304, headers={"ETag": tag}) if is_current(request, tag) else answer


def is_current(request: Request, tag: str) -> bool:
    """Return whether If-None-Match names this entity tag, or any; weak and strong tags are compared alike."""
    tags = {part.strip().removeprefix("W/") for part in request.headers.get("If-None-Match", "").split(",")}
    return bool(tags & {tag.removeprefix("W/"), "*"})


def json_kept(request: Request, value: Json, *, seconds: int) -> Response:
    """Return plain values as JSON that anyone may cache for so long; see `cacheable`."""
    return cacheable(request, orjson.dumps(value), "application/json", seconds=seconds)


def cacheable(
    request: Request, body: bytes, media_type: str, *, seconds: int, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a body that anyone may cache for so long, and revalidate with If-None-Match (RFC 9110 §13.1.2).

    The answer is 304 without a body where the caller's copy is current.
    """
    tag = _tag_of(body)
    sent = {**(headers or {}), "ETag": tag, "Cache-Control": f"public, max-age={seconds}"}
    if is_current(request, tag):
        return Response(status_code=304, headers=sent)
    return Response(body, headers=sent, media_type=media_type)


@lru_cache(maxsize=16)
def _tag_of(body: bytes) -> str:
    """Return the entity tag of a body; one that is made once, such as the OpenAPI document, is hashed once."""
    return f'"{hashlib.sha256(body).hexdigest()}"'


_QUALITY: Final = re.compile(r"\s*[qQ]\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*", re.ASCII)


def preferences(header: str) -> Iterator[tuple[str, float]]:
    """Yield what an Accept header names, in small letters, each with its weight (RFC 9110 §12.4.2).

    A malformed weight counts as 0.
    """
    for item in header.split(","):
        name, *parameters = item.split(";")
        weights = [parameter for parameter in parameters if parameter.strip().lower().startswith("q")]
        quality = _QUALITY.fullmatch(weights[0]) if weights else None
        yield name.strip().lower(), float(quality[1]) if quality else 0.0 if weights else 1.0


def preferred_language(header: str, languages: Sequence[str] = LANGUAGES) -> str:
    """Return the language that an Accept-Language prefers (RFC 9110 §12.5.4), English where it names none of these.

    A range such as `fr-CH` counts as its language (RFC 4647 §3.4).
    """
    weights: dict[str, float] = {}
    for tag, weight in preferences(header):
        language = tag.partition("-")[0]
        weights[language] = max(weight, weights.get(language, 0))
    rest = weights.get("*", 0)
    best = max((*weights, *languages), key=lambda lang: weights.get(lang, rest) if lang in languages else -1)
    return best if weights.get(best, rest) > 0 else ORIGINAL


def weight_of(header: str, media_type: str) -> float:
    """Return the weight of a media type in an Accept header (RFC 9110 §12.5.1); 0 for one that it does not name."""
    weights = dict(preferences(header))
    ranges = (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
    return next((weights[name] for name in ranges if name in weights), 0)


def takes_gzip(sent: Iterable[str]) -> bool:
    """Return whether a caller takes gzip by its Accept-Encoding (RFC 9110, section 12.5.3); `sent` are its values.

    A coding of weight 0 is refused; `*` stands for those that are not named. Without the header nothing is compressed.
    """
    weights = dict(preferences(",".join(sent)))
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0))) > 0


def accepted_language(request: Request, languages: Sequence[str] = LANGUAGES) -> str:
    """Return the language of the answer to a request, one of these."""
    headers = request.headers.getlist("accept-language")
    return preferred_language(",".join(headers), languages) if headers else ORIGINAL


def in_language(answer: Response, lang: str, templates: Mapping[str, str] = MappingProxyType({})) -> Response:
    """Return an answer with the messages of its JSON in a language, and the headers that declare it.

    `templates` are what is stored beside the English messages of an answer that the database has written.
    """
    if lang != ORIGINAL and answer.media_type == "application/json":
        value = answer.value if isinstance(answer, JsonAnswer) else orjson.loads(answer.body)
        answer.body = as_json(translated(value, lang, templates))
        answer.headers["Content-Length"] = str(len(answer.body))
    answer.headers["Content-Language"] = lang
    answer.headers.add_vary_header("Accept-Language")
    return answer


def translated(value: Json, lang: str, templates: Mapping[str, str]) -> Json:
    """Return the plain values of an answer with their messages in a language; `templates` as in `in_language`."""
    match value:
        case Mapping():
            return {
                name: translate(stored_message(member, templates), lang)
                if _is_message(name, member, value)
                else translated(member, lang, templates)
                for name, member in value.items()
            }
        case list() | tuple():
            return [translated(member, lang, templates) for member in value]
    return value


def _is_message(name: str, member: Json, beside: JsonMapping) -> bool:
    """Return whether a member is the message of an error, an issue or a question, or a line's or sheet's reason."""
    if not isinstance(member, str):
        return False
    if name == "message":
        return not beside.keys().isdisjoint(("code", "error", "could_be"))
    return name == "reason" and ("line" in beside or "sheet" in beside)
