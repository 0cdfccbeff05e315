"""Error answers in the OpenAPI document: a description and one example for each code that an operation can send."""

from typing import Final

import orjson

from schemas.errors import ERROR_CODES
from schemas.json_values import JsonObject
from schemas.messages import Message

_CORRELATION_ID: Final = "0198b8a0-5a52-7c1e-9d0e-3f6a1c2b4d5e"
_DETAILS: Final[dict[str, list[JsonObject]]] = {
    "invalid_body": [
        {
            "field": "components[0].weight_g",
            "code": "out_of_range",
            "message": Message("Input should be greater than or equal to {bound}.", bound=0),
        },
    ],
    "plan_limit_reached": [
        {
            "code": "plan_limit_reached",
            "limit": 1000,
            "held": 990,
            "new": 25,
            "message": Message(
                "The plan holds {limit} SKUs; {held} are held and the request brings {new} new ones.",
                limit=1000,
                held=990,
                new=25,
            ),
        },
    ],
}


def publish(response: JsonObject, *, counted: bool) -> None:
    """Complete an error answer that names its codes in `x-error-codes`; `counted` where SKUs are counted.

    A description that it has already stays.
    """
    codes = response["x-error-codes"]
    response["description"] = response["description"] or " ".join(
        f"`{code}`: {ERROR_CODES[code].meaning}" for code in codes
    )
    response["content"]["application/json"]["examples"] = {
        code: {"value": orjson.loads(orjson.dumps(example(code, counted=counted)))} for code in codes
    }


def example(code: str, *, counted: bool = True) -> JsonObject:
    """Return the body of an error with this code."""
    body = {"error": code, "correlationId": _CORRELATION_ID, "message": ERROR_CODES[code].meaning}
    return body | ({"details": _DETAILS[code]} if code == "invalid_body" or (counted and code in _DETAILS) else {})
