"""Models of the jurisdiction catalogue's answers."""

from typing import Annotated, Literal

from pydantic import Field as PydanticField

from schemas.answers import Answer, Day
from schemas.pages import Pagination

Representative = Annotated[Literal["yes", "no", "unknown"], PydanticField(json_schema_extra={"x-stability": "preview"})]


class Jurisdiction(Answer):
    """One entry of the catalogue; never an amount of a fee or a legal opinion."""

    code: str
    name: str
    parent_code: str | None
    region: str
    system: str
    system_key: str
    depth: Literal[1, 2, 3]
    verified_on: Day | None
    reviewed_on: Day | None
    register_name: str | None
    register_url: str | None
    law_title: str | None
    law_reference: str | None
    law_date: Day | None
    scope: str
    reporting_period: list[str]
    authorised_representative_required: str
    authorised_representative_from_member_state: Representative
    authorised_representative_from_third_country: Representative
    local_labelling_rule: str | None
    source_url: str | None
    source_note: str | None


class Breakdown(Answer):
    """Counts of the catalogue's entries: each entry once by system, and once by region."""

    by_system: dict[str, int]
    by_region: dict[str, int]


class Coverage(Answer):
    """How deep the catalogue goes."""

    guided: int
    sourced: int
    signalled: int
    newest_verified_on: Day | None
    breakdown: Breakdown


class JurisdictionListResponse(Answer):
    """A page of the catalogue, by code."""

    data: list[Jurisdiction]
    coverage: Coverage
    pagination: Pagination
