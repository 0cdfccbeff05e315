"""Models of the records that SKUs refer to: shared components, sites, brands, suppliers."""

from collections.abc import Mapping
from typing import (
    Annotated,
    Any,  # Any: an annotation made from a vocabulary
    Final,
    Generic,
    Literal,
    TypeVar,
)

from pydantic import AfterValidator, BaseModel, create_model
from pydantic import Field as PydanticField
from pydantic.fields import FieldInfo
from typing_extensions import TypedDict

from schemas import normalise
from schemas.answers import Answer, Identifier, Instant, Number, code
from schemas.fields import MAX_WEIGHT_G
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.normalise import Unfit
from schemas.pages import ListAnswer
from schemas.skus.inputs import Strict, one_of, uuid_text, validator
from schemas.suppliers import email_address


class LibraryComponent(TypedDict):
    """A shared component: a line that names it by `component_id` takes from it what the line omits, at the write."""

    id: Identifier
    code: Annotated[str, PydanticField(description="The company's code for it, unique.")]
    name: str
    component_type: code("component_type")  # type: ignore[valid-type]
    material_family: code("material_family")  # type: ignore[valid-type]
    polymer_or_grade: str | None
    weight_g: Annotated[Number | None, PydanticField(description="Weight. Unit: g.")]
    supplier_id: Identifier | None
    colour: code("colour") | None  # type: ignore[valid-type]
    recycled_content_percent: Annotated[Number | None, PydanticField(description="0 to 100.")]
    created_at: Instant
    updated_at: Instant


class Site(TypedDict):
    """A place where packaging is made or filled."""

    id: Identifier
    name: Annotated[str, PydanticField(description="Unique within the company.")]
    roles: list[code("site_role")]  # type: ignore[valid-type]
    country: Annotated[str | None, PydanticField(description="ISO 3166-1 alpha-2.")]
    city: str | None
    created_at: Instant
    updated_at: Instant


class Brand(TypedDict):
    """A brand of the company's portfolio."""

    id: Identifier
    name: Annotated[str, PydanticField(description="Unique within the company.")]
    owner_name: Annotated[str | None, PydanticField(description="Legal owner of the brand.")]
    created_at: Instant
    updated_at: Instant


T = TypeVar("T")


class _Result(Answer, Generic[T]):
    """A record after a write."""

    outcome: Literal["created", "updated", "unchanged"]
    dry_run: bool
    data: T


class AddedBrand(Brand):
    """The record; its `id` is null where a dry run would add it."""

    id: Identifier | None  # type: ignore[misc]  # wider than of a record that is stored


class BrandResult(_Result[AddedBrand]):
    """A brand that was added or changed, or was there with the same values."""


class AddedSite(Site):
    """The record; its `id` is null where a dry run would add it."""

    id: Identifier | None  # type: ignore[misc]  # wider than of a record that is stored


class SiteResult(_Result[AddedSite]):
    """A site that was added or changed, or was there with the same values."""


class AddedLibraryComponent(LibraryComponent):
    """The record; its `id` is null where a dry run would add it."""

    id: Identifier | None  # type: ignore[misc]  # wider than of a record that is stored


class LibraryComponentResult(_Result[AddedLibraryComponent]):
    """A shared component that was added or changed, or was there with the same values."""

    skus_differing: Annotated[
        int,
        PydanticField(
            description="SKUs with a line of this component whose stored value differs from one that the component has:"
            " nothing changes them."
        ),
    ]


class Supplier(TypedDict):
    """Who supplies parts; the mail address is where questions are sent."""

    id: Identifier
    name: Annotated[str, PydanticField(description="Unique within the company.")]
    email: str | None
    country: Annotated[str | None, PydanticField(description="ISO 3166-1 alpha-2.")]
    created_at: Instant
    updated_at: Instant


class AddedSupplier(Supplier):
    """The record; its `id` is null where a dry run would add it."""

    id: Identifier | None  # type: ignore[misc]  # wider than of a record that is stored


class SupplierResult(_Result[AddedSupplier]):
    """A supplier that was added or changed, or was there with the same values."""


class SupplierListResponse(ListAnswer[Supplier]):
    """A page of suppliers, by name."""


def _one(record: Any) -> Any:
    """Return the answer that has one record."""
    return create_model(f"{record.__name__}Response", __base__=Answer, __doc__="One record.", data=(record, ...))


BrandResponse, SiteResponse, SupplierResponse, LibraryComponentResponse = map(
    _one, (Brand, Site, Supplier, LibraryComponent)
)


class LibraryComponentListResponse(ListAnswer[LibraryComponent]):
    """A page of shared components, by code."""


class SiteListResponse(ListAnswer[Site]):
    """A page of sites, by name."""


class BrandListResponse(ListAnswer[Brand]):
    """A page of brands, by name."""


_LONGEST = 255


def _name(value: str) -> str:
    return normalise.text(value, min_length=1, max_length=_LONGEST)


def _code(value: str) -> str:
    return normalise.text(value, min_length=1, max_length=_LONGEST, is_code=True)


def _country(value: str) -> str:
    code = normalise.place(value)
    if "-" in code:
        raise Unfit("unknown_market", Message("Send a country, ISO 3166-1 alpha-2, such as FR."))
    return code


_BOUNDED: JsonObject = {"minLength": 1, "maxLength": _LONGEST}
Name = Annotated[str, AfterValidator(validator(_name)), PydanticField(json_schema_extra=_BOUNDED)]
Code = Annotated[str, AfterValidator(validator(_code)), PydanticField(json_schema_extra=_BOUNDED)]
Id = Annotated[str, AfterValidator(validator(uuid_text)), PydanticField(json_schema_extra={"format": "uuid"})]
_Colour: Any = one_of("colour")
Country = Annotated[str, AfterValidator(validator(_country))]


class BrandInput(Strict):
    """A brand of the portfolio."""

    name: Annotated[Name, PydanticField(description="Unique within the company.")]
    owner_name: Annotated[Name | None, PydanticField(description="Legal owner of the brand.")] = None


class SiteInput(Strict):
    """A site where packaging is made or filled."""

    name: Annotated[Name, PydanticField(description="Unique within the company.")]
    roles: Annotated[list[one_of("site_role")], PydanticField(min_length=1, description="What is done there.")]  # type: ignore[valid-type]
    country: Annotated[Country | None, PydanticField(description="ISO 3166-1 alpha-2.")] = None
    city: Annotated[Name | None, PydanticField(description="City of the site.")] = None


class SupplierInput(Strict):
    """Who supplies parts; the mail address is where questions are sent."""

    name: Name
    email: Annotated[str, AfterValidator(validator(email_address))] | None = None
    country: Country | None = None


class MergeInput(Strict):
    """The record of the same kind that stays where one is merged into it."""

    into: Id


class LibraryComponentInput(Strict):
    """A shared component: a line that names it takes from it what it omits."""

    code: Annotated[Code, PydanticField(description="The company's code for it, unique.")]
    name: Annotated[Name, PydanticField(description="What it is called.")]
    component_type: Annotated[one_of("component_type"), PydanticField(description="Part of the packaging.")]  # type: ignore[valid-type]
    material_family: Annotated[one_of("material_family"), PydanticField(description="Material family.")]  # type: ignore[valid-type]
    polymer_or_grade: Annotated[Name | None, PydanticField(description="Material in more detail.")] = None
    weight_g: Annotated[
        Annotated[float, PydanticField(ge=0, le=MAX_WEIGHT_G)] | None, PydanticField(description="Weight. Unit: g.")
    ] = None
    supplier_id: Annotated[Id | None, PydanticField(description="Who supplies it.")] = None
    colour: Annotated[_Colour | None, PydanticField(description="Colour class as sorting plants see it.")] = None
    recycled_content_percent: Annotated[
        Annotated[float, PydanticField(ge=0, le=100)] | None,
        PydanticField(description="Declared recycled content, 0 to 100."),
    ] = None


INPUTS: Final[Mapping[str, type[BaseModel]]] = {"supplier": SupplierInput, "brand": BrandInput, "site": SiteInput}
"""The body of each kind of record that people change."""


def _patch(model: type[BaseModel]) -> Any:
    """Return the model of changes of a record: each field of `model`, none of which must be there."""
    name, fields = model.__name__.replace("Input", "Patch"), model.model_fields.items()
    members: Any = {
        name: (field.annotation, FieldInfo.merge_field_infos(field, default=None)) for name, field in fields
    }
    about = "Changes of a record as a merge patch (RFC 7396): an omitted field stays, null clears."
    return create_model(name, __base__=Strict, __doc__=about, **members)


BrandPatch, SitePatch, SupplierPatch = (_patch(INPUTS[kind]) for kind in ("brand", "site", "supplier"))
LibraryComponentPatch = _patch(LibraryComponentInput)
