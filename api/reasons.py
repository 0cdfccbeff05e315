"""Reads the body of an operation that needs nothing but, perhaps, a reason for the audit log."""

from dataclasses import replace

from api.writing import Write
from schemas.json_values import Json
from schemas.models import parse_body
from schemas.reasons import ReasonInput


def with_reason(write: Write, body: Json) -> Write:
    """Return the write with the reason of its body, which the audit log keeps. Raise `Refused`."""
    sent = parse_body(ReasonInput, body)
    return replace(write, origin=replace(write.origin, reason=sent.reason))
