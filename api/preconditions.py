"""Reads `If-Match` and `If-None-Match`: a write for a version is refused once another one is stored.

A SKU's entity tag is its version (`ETag: "3"`). The version is compared in the write's transaction, where the row is
locked, so that of two writers with the same version one is refused.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Final, Self

from fastapi import Header
from pydantic import BeforeValidator, WithJsonSchema
from starlette.responses import Response

from api.bodies import fingerprint
from api.errors import VersionConflict
from schemas.messages import Message
from schemas.models import validator
from schemas.normalise import Unfit

ETAG: Final = {"ETag": "The version of the SKU; send it back as If-Match."}
"""The header of an answer that shows a SKU, with its meaning."""
_TAG: Final = r'(?:W/)?"[\x21\x23-\x7e]*"'
_TAGS: Final = re.compile(rf"{_TAG}(?:[ \t]*,[ \t]*{_TAG})*", re.ASCII)
_ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Precondition:
    """The entity tags of an If-Match; `*` is met by any stored SKU, a weak tag by none (RFC 9110, section 13.1.1)."""

    tags: frozenset[str]

    @classmethod
    def of_version(cls, version: int | None) -> Self:
        """Return the precondition of one version, which none meets where it is None."""
        return cls(frozenset() if version is None else frozenset({_tag(version)}))

    def check(self, version: int | None) -> None:
        """Raise `VersionConflict` where the stored version is another; None where the SKU is not stored."""
        if version is None or not self.tags & {_ANY, _tag(version)}:
            raise VersionConflict(version)


def _precondition(value: str) -> Precondition:
    if value != _ANY and not _TAGS.fullmatch(value):
        raise Unfit("invalid_format", Message('If-Match is a version in quotes, such as "3", or *.'))
    return Precondition(frozenset(re.findall(_TAG, value)) or frozenset({_ANY}))


IfMatch = Annotated[
    Precondition | None,
    BeforeValidator(validator(_precondition)),
    WithJsonSchema({"type": "string"}),
    Header(
        alias="If-Match",
        description="The ETag of the SKU that the write was made for; refused with 412 where it has changed since.",
    ),
]


def _create_only(value: str) -> bool:
    if value != _ANY:
        raise Unfit("invalid_format", Message("If-None-Match of a write is *: the SKU must not exist yet."))
    return True


CreateOnly = Annotated[
    bool | None,
    BeforeValidator(validator(_create_only)),
    WithJsonSchema({"type": "string", "enum": [_ANY]}),
    Header(
        alias="If-None-Match",
        description="`*`: the SKU is created or nothing is written; refused with 412 where it exists, archived or not.",
    ),
]


def fingerprint_for(body: object, if_match: Precondition | None, *, create_only: bool = False) -> bytes:
    """Return the fingerprint of a write: its body, and the versions that it was made for where it names some."""
    if create_only:
        return fingerprint([body, sorted(if_match.tags) if if_match else None, _ANY])
    return fingerprint(body if if_match is None else [body, sorted(if_match.tags)])


def with_etag(answer: Response, version: int | None) -> Response:
    """Return the answer with the entity tag of the SKU that it shows; without one where nothing is stored."""
    if version is not None:
        answer.headers["ETag"] = _tag(version)
    return answer


def _tag(version: int) -> str:
    return f'"{version}"'
