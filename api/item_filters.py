"""Declares the filters and the order of a list of items: parameters of the REST API, and of the pages' addresses.

Both read a value by the same function, so that a link of a page says the same as the request of a program; a page takes
names beside codes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, Signature
from typing import Annotated, Any, Final  # Any: each filter has a type of its own
from uuid import UUID

from fastapi import Depends, Query
from pydantic import BeforeValidator, WithJsonSchema
from starlette.requests import Request

from api.parameters import one_of
from api.service import service_of
from schemas import normalise, texts
from schemas.issues import Issue
from schemas.market_names import market_named
from schemas.messages import Message
from schemas.models import validator
from schemas.normalise import Unfit
from schemas.vocabularies import VOCABULARIES
from services.item_search import Place
from warehouse.analytics.found import GAPS, Finding
from warehouse.skus.search import MOST_WORDS, SORTS, Search

MOST_CHARACTERS: Final = 200
"""The most characters of a text that is searched, of a ban's code and of a rule's id."""


def _words(value: str) -> tuple[str, ...]:
    words = tuple(normalise.text(value, min_length=None, max_length=MOST_CHARACTERS).split())
    if len(words) > MOST_WORDS:
        raise Unfit("out_of_range", Message("At most {most} words are searched at once.", most=MOST_WORDS))
    return words


def _id(value: str) -> UUID:
    try:
        return UUID(value)
    except ValueError:
        raise Unfit("invalid_format", Message("{value} is no UUID.", value=normalise.shown(value))) from None


_code = partial(normalise.text, min_length=1, max_length=MOST_CHARACTERS, is_code=True)

READ: Final[Mapping[str, Callable[[str], Any]]] = {
    "q": _words,
    "market": normalise.market,
    "grade": partial(normalise.code, vocabulary="recyclability_grade"),
    "doc_status": partial(normalise.code, vocabulary="doc_status"),
    "material": partial(normalise.code, vocabulary="material"),
    "brand_id": _id,
    "supplier_id": _id,
    "gap": partial(one_of, codes=GAPS),
    "flag": _code,
    "rule": _code,
    "sort": partial(one_of, codes=SORTS),
}
"""Each parameter with the function that reads it, which raises `Unfit` with what would be accepted."""
_OF_FINDING: Final = ("gap", "flag", "rule")


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list of items is narrowed to, and its order, as `READ` reads them; those that are not given are left out.

    Of a list without any of them the newest item is the first.
    """

    given: Mapping[str, Any]

    def search(self, **others: Any) -> Search:
        """Return the conditions on the records, with `others` of `Search` besides."""
        own = {name: value for name, value in self.given.items() if name not in (*_OF_FINDING, "q")}
        return Search(words=self.given.get("q", ()), **own, **others)

    def finding(self) -> Finding:
        """Return the conditions on what the snapshot found."""
        return Finding(**{name: self.given[name] for name in _OF_FINDING if name in self.given})


_TYPED: Final[Mapping[str, Callable[[str], Any]]] = {**READ, "market": market_named}
"""The same for a person, who names a market in words, too."""


def read_filters(request: Request) -> tuple[Filters, list[Issue]]:
    """Return the filters of a page's address that can be read, and a fault for each other one; empty is none."""
    given, faults = dict[str, Any](), list[Issue]()
    for name, read in _TYPED.items():
        if not (value := texts.shown(request.query_params.get(name, ""))):
            continue
        try:
            given[name] = read(value)
        except Unfit as unfit:
            faults.append(Issue(unfit.code, unfit.message, name))
    return Filters(given), faults


def place_of(request: Request, company_id: UUID) -> Place:
    """Return where the items of a company are searched."""
    service = service_of(request)
    return Place(service.writes, service.clock, service.rulesets, service.settings.data_dir, company_id)


def _codes(codes: tuple[str, ...]) -> dict[str, object]:
    return {"type": "string", "enum": list(codes)}


_TEXT: Final = {"type": "string", "maxLength": MOST_CHARACTERS}
_UUID: Final = {"type": "string", "format": "uuid"}
_FOUND: Final = "As of the newest snapshot, see `findings_as_of`."
_OF_WORDS: Final = (
    f"Only SKUs that contain every word of these, {MOST_WORDS} at most, in code, name, GTIN, material, format, "
    "category, brand or supplier. Order, case and accents do not count."
)
_PUBLISHED: Final[Mapping[str, tuple[Mapping[str, object], str]]] = {
    "q": (_TEXT, _OF_WORDS),
    "market": (
        {"type": "string"},
        "Only SKUs of this market, named or with units above 0 in 2026 or later; a country includes its subdivisions.",
    ),
    "grade": (_codes(VOCABULARIES["recyclability_grade"]), "Only SKUs of this grade."),
    "doc_status": (_codes(VOCABULARIES["doc_status"]), "Only SKUs of this DoC status."),
    "material": (_codes(VOCABULARIES["material"]), "Only SKUs of this material, or with a component of it."),
    "brand_id": (_UUID, "Only SKUs of this brand."),
    "supplier_id": (_UUID, "Only SKUs with a component of this supplier."),
    "gap": (_codes(GAPS), f"Only SKUs of which this is not recorded. {_FOUND}"),
    "flag": (_TEXT, f"Only SKUs that meet, or may meet, the format ban of this code, as in `annex_v_flags`. {_FOUND}"),
    "rule": (
        _TEXT,
        f"Only SKUs on which the design rule of this id fired and is not overruled, as in `grade_trace`. {_FOUND}",
    ),
    "sort": (
        _codes(SORTS),
        "Field to sort by, with a minus in descending order; SKUs without a value come last. Without it: newest first.",
    ),
}
"""What the document says of each parameter: its schema, and its meaning."""


def _parameter(name: str) -> Parameter:
    schema, meaning = _PUBLISHED[name]
    as_published = WithJsonSchema({**schema, "x-stability": "preview"})
    declared = Annotated[Any, BeforeValidator(validator(READ[name])), as_published, Query(description=meaning)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=declared)


class _FilterParameters:
    """The filters as the framework reads and publishes them: its signature is made from the table."""

    __signature__ = Signature([_parameter(name) for name in READ])

    async def __call__(self, **given: Any) -> Filters:
        return Filters({name: value for name, value in given.items() if value is not None})


FilterParameters = Annotated[Filters, Depends(_FilterParameters())]
"""The filters of a request; one that cannot be read is refused with what would be accepted."""
