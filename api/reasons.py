"""Reads the body of an operation that needs nothing but, perhaps, a reason for the audit log."""

from dataclasses import replace

from pydantic import ValidationError

from api.errors import InvalidBody
from api.writing import Write
from schemas.json_values import Json
from schemas.models import issues_of
from schemas.reasons import ReasonInput


def with_reason(write: Write, body: Json) -> Write:
    """Return the write with the reason of its body, which the audit log keeps. Raise `InvalidBody`."""
    try:
        sent = ReasonInput.model_validate(body)
    except ValidationError as error:
        raise InvalidBody(issues_of(error)) from None
    return replace(write, origin=replace(write.origin, reason=sent.reason))
