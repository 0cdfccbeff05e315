"""Models of the lists that SKUs refer to: shared components, sites, brands."""

from typing import Annotated, Literal

from pydantic import Field as PydanticField

from schemas.responses.base import Answer, Identifier, Instant, Number, Pagination, code


class LibraryComponent(Answer):
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


class Site(Answer):
    """A place where packaging is made or filled."""

    id: Identifier
    name: Annotated[str, PydanticField(description="Unique within the company.")]
    roles: list[code("site_role")]  # type: ignore[valid-type]
    country: Annotated[str | None, PydanticField(description="ISO 3166-1 alpha-2.")]
    city: str | None
    created_at: Instant
    updated_at: Instant


class Brand(Answer):
    """A brand of the company's portfolio."""

    id: Identifier
    name: Annotated[str, PydanticField(description="Unique within the company.")]
    owner_name: Annotated[str | None, PydanticField(description="Legal owner of the brand.")]
    created_at: Instant
    updated_at: Instant


class AddedBrand(Brand):
    """The record; its `id` is null where a dry run would add it."""

    id: Identifier | None  # type: ignore[assignment]  # wider than of a record that is stored


class BrandResult(Answer):
    """A brand that was added, or was there with the same values."""

    outcome: Literal["created", "unchanged"]
    dry_run: bool
    data: AddedBrand


class AddedSite(Site):
    """The record; its `id` is null where a dry run would add it."""

    id: Identifier | None  # type: ignore[assignment]  # wider than of a record that is stored


class SiteResult(Answer):
    """A site that was added, or was there with the same values."""

    outcome: Literal["created", "unchanged"]
    dry_run: bool
    data: AddedSite


class AddedLibraryComponent(LibraryComponent):
    """The record; its `id` is null where a dry run would add it."""

    id: Identifier | None  # type: ignore[assignment]  # wider than of a record that is stored


class LibraryComponentResult(Answer):
    """A shared component that was added, or was there with the same values."""

    outcome: Literal["created", "unchanged"]
    dry_run: bool
    data: AddedLibraryComponent


class LibraryComponentListResponse(Answer):
    """A page of shared components, by code."""

    data: list[LibraryComponent]
    pagination: Pagination


class SiteListResponse(Answer):
    """A page of sites, by name."""

    data: list[Site]
    pagination: Pagination


class BrandListResponse(Answer):
    """A page of brands, by name."""

    data: list[Brand]
    pagination: Pagination
