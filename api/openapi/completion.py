"""Adds what all operations of the OpenAPI document share: scopes, limits, headers, error answers, schema style."""

from importlib.resources import files
from typing import Final

import orjson

from api.openapi.examples import Schema, below, of_document
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.refusals import ERROR_CODES
from warehouse.accounts import keys
from warehouse.suppliers import ANSWERS_PER_MINUTE

_ERROR_CORRELATION_ID: Final = "0198b8a0-5a52-7c1e-9d0e-3f6a1c2b4d5e"
_DETAILS: Final[dict[str, list[JsonObject]]] = {
    "invalid_body": [
        {
            "field": "components[0].weight_g",
            "code": "out_of_range",
            "message": Message("Send a number of at least {bound}.", bound=0),
        }
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
        }
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
    body = {"error": code, "correlationId": _ERROR_CORRELATION_ID, "message": ERROR_CODES[code].meaning}
    return body | ({"details": _DETAILS[code]} if code == "invalid_body" or (counted and code in _DETAILS) else {})


_COMMON: Final[JsonObject] = orjson.loads((files("api.openapi") / "common.json").read_bytes())
"""The token endpoint's credential, the parameters of every write and of every operation, and the headers of answers."""
_WRITES: Final = ("post", "put", "patch", "delete")
_LIMIT: Final = {"requests": keys.REQUESTS_PER_MINUTE, "seconds": 60, "counted_by": "key and its tokens"}
_TOKEN_LIMIT: Final = {"requests": keys.TOKEN_REQUESTS_PER_MINUTE, "seconds": 60, "counted_by": "client, and address"}
_SUPPLIER_LIMIT: Final = {"requests": ANSWERS_PER_MINUTE, "seconds": 60, "counted_by": "token, and address"}
_HEADERS_OF_STATUS: Final = {"401": ("WWW-Authenticate",), "429": ("Retry-After",), "503": ("Retry-After",)}


def complete(document: JsonObject) -> None:
    """Complete every operation and the style of every schema, in place."""
    document["components"]["headers"] = _COMMON["headers"]
    for name in ("HTTPValidationError", "ValidationError"):  # of the framework's own 422
        document["components"]["schemas"].pop(name, None)
    document["components"]["securitySchemes"]["Client"] = _COMMON["client"]
    document["webhooks"] = _COMMON["webhooks"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            _complete(operation, path, method)
            _leave_to_body(operation, document["components"]["schemas"])
    for schema in of_document(document):
        _formed(schema)
    for schemas in document["components"]["schemas"].values():
        for schema in below(schemas):
            _sized(schema)


def _complete(operation: JsonObject, path: str, method: str) -> None:
    if own := operation.pop("parameters", None):
        operation["parameters"] = [_parameter(made) for made in own]
        operation |= {name: operation.pop(name) for name in ("requestBody", "security") if name in operation}
    operation["description"] = _marked(operation["description"], operation, "\n\n")
    secured = bool(operation.setdefault("security", []))
    answers_a_request = path.endswith("/supplier-data/{token}")
    writes, once = method in _WRITES and secured, method in _WRITES and (secured or answers_a_request)
    if path.endswith("/oauth/token"):
        operation["security"] = [{}, {"Client": []}]
        operation["x-rate-limit"] = _TOKEN_LIMIT
    elif answers_a_request:
        operation["x-rate-limit"] = _SUPPLIER_LIMIT
    elif secured:
        operation["x-rate-limit"] = _LIMIT
        operation.setdefault("x-scope", "write" if writes else "read")
        for requirement in operation["security"]:
            if "BearerToken" in requirement:  # the only scheme with scopes; a key has its own
                requirement["BearerToken"] = [operation["x-scope"]]
    common = [_COMMON[name] for name in ("idempotency_key", "correlation_id") if once or name == "correlation_id"]
    operation.setdefault("parameters", []).extend(common)
    operation["responses"].pop("422", None)  # the framework's own; a parameter at fault is a 400 here
    operation["responses"] = dict(sorted(operation["responses"].items()))
    for status, response in operation["responses"].items():
        if "x-error-codes" in response:
            publish(response, counted=writes)
        names = ["X-Correlation-Id", *_HEADERS_OF_STATUS.get(status, ())]
        if secured:
            names += ["RateLimit-Policy", "RateLimit", "Sandbox"]
        if once and status.startswith("2"):
            names.append("Idempotent-Replayed")
        if status in ("201", "202") and secured:
            names.append("Location")
        headers = response.setdefault("headers", {})
        if status == "403":
            headers["WWW-Authenticate"] = _COMMON["scope_missing"]
        headers |= {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _parameter(made: JsonObject) -> JsonObject:
    """Return a parameter as the framework made it, described once and not in its schema again."""
    schema = {name: value for name, value in made["schema"].items() if name not in ("description", "title")}
    if schema["type"] == "boolean":
        schema["default"] = False  # the framework publishes no default of a parameter that it reads as a list
    about = _marked(made["description"], schema, " ")
    return {name: made[name] for name in ("name", "in", "required")} | {"description": about, "schema": schema}


_PREVIEW: Final = "Preview: it may still change."


def _marked(about: str, part: JsonObject, between: str) -> str:
    """Return what the document says about a part, and that it may change where it does."""
    return f"{about}{between}{_PREVIEW}" if part.get("x-stability") == "preview" else about


def _leave_to_body(operation: JsonObject, schemas: JsonObject) -> None:
    """Publish no default of a parameter that the body has as a member: a client would send it beside the body's."""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    members = schemas.get(body.get("$ref", "").rpartition("/")[2], {}).get("properties", {})
    for parameter in operation["parameters"]:
        if parameter.get("name") in members:
            parameter["schema"].pop("default", None)


def _formed(schema: Schema) -> None:
    """Write null as a type beside the others, and remove titles that only repeat a field's name."""
    schema.pop("title", None)
    match schema.get("anyOf"):
        case [{"type": "integer"}, {"type": "number"}, *others]:  # every integer is a number
            schema["anyOf"] = [{"type": "number"}, *others]
    match schema.get("anyOf"):
        case [{"type": str() as kind} as only, {"type": "null"}] if "enum" not in only and "const" not in only:
            del schema["anyOf"]
            schema |= {**only, "type": [kind, "null"]}
        case [{"type": str()} as only]:
            del schema["anyOf"]
            schema |= only


def _sized(schema: Schema) -> None:
    """Add the width of a number. Not for parameters: the service clamps integers of any size."""
    kinds = schema.get("type", ())
    if "integer" in kinds:
        small = abs(schema.get("maximum", 2**63)) < 2**31
        schema.setdefault("format", "int32" if small else "int64")
    elif "number" in kinds:
        schema.setdefault("format", "double")
