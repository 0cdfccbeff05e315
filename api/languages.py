"""Chooses the language of an answer by the caller's request, and translates the answer's messages.

Only messages change (`message` of errors and issues, `reason` of skipped lines): codes, fields and numbers are for
programs. `schemas.messages` has the translations.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from api.answers import JsonAnswer
from schemas.json_values import Json, JsonMapping
from schemas.labels import LANGUAGES
from schemas.messages import ORIGINAL, stored_message, translate

_QUALITY: Final = re.compile(r"\s*[qQ]\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*")


def preferred_language(header: str) -> str:
    """Return the language that an Accept-Language prefers (RFC 9110 §12.5.4), English where it names none of ours.

    A range such as `fr-CH` counts as its language (RFC 4647 §3.4). A malformed weight counts as 0.
    """
    weights: dict[str, float] = {}
    for item in header.split(","):
        tag, _, parameters = item.partition(";")
        language = tag.strip().lower().partition("-")[0]
        weights[language] = max(_weight(parameters), weights.get(language, 0))
    rest = weights.get("*", 0)
    best = max((*weights, *LANGUAGES), key=lambda lang: weights.get(lang, rest) if lang in LANGUAGES else -1)
    return best if weights.get(best, rest) > 0 else ORIGINAL


def _weight(parameters: str) -> float:
    if not parameters:
        return 1
    found = _QUALITY.fullmatch(parameters)
    return float(found[1]) if found else 0


def weight_of(header: str, media_type: str) -> float:
    """Return the weight of a media type in an Accept header (RFC 9110 §12.5.1); 0 for one that it does not name."""
    ranges = {item.partition(";")[0].strip().lower(): item for item in header.split(",")}
    kind = media_type.partition("/")[0]
    named = next((name for name in (media_type, f"{kind}/*", "*/*") if name in ranges), None)
    parameters = [each for each in ranges.get(named or "", "").split(";")[1:] if each.strip().lower().startswith("q")]
    return 0 if named is None else _weight("".join(parameters[:1]))


def accepted_language(request: Request) -> str:
    """Return the language of the answer to a request."""
    headers = request.headers.getlist("accept-language")
    return preferred_language(",".join(headers)) if headers else ORIGINAL


def in_language(answer: Response, lang: str, templates: Mapping[str, str] = MappingProxyType({})) -> Response:
    """Return a JSON answer with its messages in a language, and the headers that declare it.

    `templates` are what is stored beside the English messages of an answer that the database has written.
    """
    if lang != ORIGINAL:
        value = answer.value if isinstance(answer, JsonAnswer) else orjson.loads(answer.body)
        answer.body = orjson.dumps(translated(value, lang, templates))
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
