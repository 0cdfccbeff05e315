"""Model of the answer to a supplier."""

from typing import Annotated, Literal

from pydantic import Field as PydanticField

from schemas.responses.base import Answer, Identifier


class SupplierSubmissionAccepted(Answer):
    """The answer was taken and waits for a person at the company that asked."""

    status: Literal["awaiting_review"]
    submission_id: Annotated[
        Identifier, PydanticField(description="Id of the answer, by which the company's audit log names it.")
    ]
