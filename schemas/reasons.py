"""Model of the bodies that say nothing but why something is done: archiving, bringing back, undoing an import."""

from typing import Annotated

from pydantic import AfterValidator
from pydantic import Field as PydanticField

from schemas import normalise
from schemas.models import Strict, validator


def _reason(value: str | None) -> str | None:
    return None if value is None else str(validator(normalise.text, min_length=1, max_length=2000)(value))


class ReasonInput(Strict):
    """The reason for an action."""

    reason: Annotated[
        str | None,
        AfterValidator(_reason),
        PydanticField(json_schema_extra={"maxLength": 2000}, description="The reason, which the audit log keeps."),
    ] = None
