"""Reads the filters of the list of items, in an assistant's words, into the search that REST and the pages use."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple  # Any: annotations made from vocabularies

from pydantic import Field

from compliance import ruleset
from compliance.words import nearest_materials, resolve_material
from connector.tools.answer import refusal
from connector.tools.arguments import market_code, uuid_of
from schemas.vocabularies import VOCABULARIES
from warehouse.analytics.found import GAPS, Finding
from warehouse.library import queries as library
from warehouse.sessions import Connection
from warehouse.skus.search import MOST_WORDS, Search

Grade: Any = Literal[tuple(VOCABULARIES["recyclability_grade"])]
Gap: Any = Literal[GAPS]
DocStatus: Any = Literal[tuple(VOCABULARIES["doc_status"])]

Words = Annotated[str | None, Field(description="Words of code, name, GTIN, format, category, brand or supplier.")]
InMarket = Annotated[str | None, Field(description="Jurisdiction: name or code, such as FR.")]
OfGrade = Annotated[Grade | None, Field(description="Recyclability grade.")]
WithGap = Annotated[Gap | None, Field(description="What is not recorded.")]
WithFlag = Annotated[str | None, Field(description="Code of a format ban, as in compliance_overview.")]
OfSupplier = Annotated[str | None, Field(description="Name or id of a component's supplier.")]
OfMaterial = Annotated[str | None, Field(description="Material, polymer or grade: plastic, PVC, glass, …")]
UsesComponent = Annotated[str | None, Field(description="Code, name or id of a shared component.")]
HasDoc = Annotated[DocStatus | None, Field(description="Cover by a declaration of conformity.")]

_NEAREST: Final = 5


class Asked(NamedTuple):
    """The conditions on the records, and on what the snapshot found."""

    search: Search
    finding: Finding


class Named(NamedTuple):
    """A record of the library that an argument names."""

    id: str
    label: str


def asked(
    conn: Connection,
    *,
    search: str | None = None,
    market: str | None = None,
    grade: str | None = None,
    doc_status: str | None = None,
    gap: str | None = None,
    flag: str | None = None,
    supplier: str | None = None,
    material: str | None = None,
    component: str | None = None,
) -> Asked:
    """Return the conditions in a session of the company. Raise the tool's refusal of one that cannot be read."""
    words = tuple((search or "").split())
    if len(words) > MOST_WORDS:
        raise refusal("out_of_range", f"search: at most {MOST_WORDS} words are searched at once.")
    family, polymer = _material(material)
    ids = [
        named.id
        for text, kind in ((supplier, "supplier"), (component, "library_component"))
        if text
        for named in named_records(conn, kind, text)
    ]
    if supplier and component:
        raise refusal("invalid_body", "Send supplier or component, not both.")
    found = Search(
        words=words,
        market=None if market is None else market_code(market),
        grade=grade,
        doc_status=doc_status,
        material=family,
        refers_to=ids or None,
    )
    return Asked(found, Finding(gap=gap, flag=flag, polymer=polymer))


def named_records(conn: Connection, resource: str, text: str) -> Sequence[Named]:
    """Return the library's records that a text names: by id, by code or name, else by all of its words.

    Raises the tool's refusal where there is none.
    """
    if uuid_of(text) is not None:
        return [Named(text.lower(), text)]
    every = library.labels(conn, resource)
    folded = text.casefold().strip()
    exact = [Named(id_, label) for id_, label, names in every if folded in names]
    words = folded.split()
    found = exact or [
        Named(id_, label) for id_, label, names in every if all(word in " ".join(names) for word in words)
    ]
    if not found:
        known = "; ".join(label for _, label, _ in every[:_NEAREST]) or "none"
        what = "supplier" if resource == "supplier" else "shared component"
        raise refusal(
            "not_found", f"No {what} of the library has “{text}” in its code or name. The first are: {known}."
        )
    return found


def _material(text: str | None) -> tuple[str | None, str | None]:
    """Return the family, else the polymer or grade, that a text names."""
    if text is None:
        return None, None
    if text.casefold() in VOCABULARIES["material"]:
        return text.casefold(), None
    rules = ruleset.load()
    if (code := resolve_material(text, rules)) is None:
        nearest = ", ".join(nearest_materials(text, rules))
        raise refusal("not_in_vocabulary", f"material: “{text}” is no known material; the nearest are: {nearest}.")
    return None, code
