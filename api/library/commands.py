"""`pcds brand`, `site`, `supplier` and `component`: add the records to which a company's SKUs refer."""

from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import psycopg
import pycountry
import typer

from api.operate.program import CompanyId, Operator, Refusal, as_operator, check_choices, command, new_id, split_values
from schemas import texts
from schemas.json_values import JsonMapping, JsonObject
from schemas.vocabularies import VOCABULARIES
from warehouse import library

APPS: Final = {kind: typer.Typer(no_args_is_help=True) for kind in ("brand", "site", "supplier", "component")}
"""One group of commands per kind of record."""
for _kind, _app in APPS.items():
    _app.callback(help=f"A company's {_kind}s.")(lambda: None)

Name = Annotated[str, typer.Option("--name", help="What it is called; unique within the company.")]
Country = Annotated[str | None, typer.Option("--country", help="ISO 3166-1 alpha-2.")]


@command(APPS["brand"], "add")
def add_brand(
    data_dir: Path | None,
    *,
    company: CompanyId,
    name: Name,
    owner_name: Annotated[str | None, typer.Option("--owner-name", help="Legal owner of the brand.")] = None,
) -> JsonObject:
    """Add a brand of the portfolio."""
    return _add(data_dir, company, "brand", {"name": name, "owner_name": owner_name})


@command(APPS["site"], "add")
def add_site(
    data_dir: Path | None,
    *,
    company: CompanyId,
    name: Name,
    roles: Annotated[list[str], typer.Option("--roles", help="manufacturing, packing or both.")],
    country: Country = None,
    city: Annotated[str | None, typer.Option("--city", help="City of the site.")] = None,
) -> JsonObject:
    """Add a site where packaging is made or filled."""
    chosen_roles = check_choices(VOCABULARIES["site_role"], split_values(roles))
    values = {"name": name, "roles": chosen_roles, "country": _check_country(country), "city": city}
    return _add(data_dir, company, "site", values)


@command(APPS["supplier"], "add")
def add_supplier(
    data_dir: Path | None,
    *,
    company: CompanyId,
    name: Name,
    email: Annotated[str | None, typer.Option("--email", help="Where requests are sent.")] = None,
    country: Country = None,
) -> JsonObject:
    """Add a supplier of components."""
    return _add(data_dir, company, "supplier", {"name": name, "email": email, "country": _check_country(country)})


@command(APPS["component"], "add")
def add_component(
    data_dir: Path | None,
    *,
    company: CompanyId,
    code: Annotated[str, typer.Option("--code", help="The company's code for it; unique.")],
    name: Annotated[str, typer.Option("--name", help="What it is called.")],
    component_type: Annotated[str, typer.Option("--component-type", help="Part of the packaging.")],
    material_family: Annotated[str, typer.Option("--material-family", help="Material family.")],
    polymer_or_grade: Annotated[str | None, typer.Option("--polymer-or-grade", help="Material in more detail.")] = None,
    weight_g: Annotated[float | None, typer.Option("--weight-g", min=0, help="Weight in grams.")] = None,
    supplier_id: Annotated[UUID | None, typer.Option("--supplier-id", help="Who supplies it.")] = None,
    colour: Annotated[str | None, typer.Option("--colour", help="Colour class as sorting plants see it.")] = None,
    recycled_content_percent: Annotated[
        float | None, typer.Option("--recycled-content-percent", min=0, max=100, help="Declared recycled content.")
    ] = None,
) -> JsonObject:
    """Add a shared component to the library."""
    check_choices(VOCABULARIES["component_type"], [component_type])
    check_choices(VOCABULARIES["material_family"], [material_family])
    check_choices(VOCABULARIES["colour"], [colour] if colour else [])
    values = {
        "code": code,
        "name": name,
        "component_type": component_type,
        "material_family": material_family,
        "polymer_or_grade": polymer_or_grade,
        "weight_g": weight_g,
        "supplier_id": supplier_id,
        "colour": colour,
        "recycled_content_percent": recycled_content_percent,
    }
    return _add(data_dir, company, "library_component", values)


def _add(data_dir: Path | None, company: UUID, resource: str, values: JsonMapping) -> JsonObject:
    with as_operator(data_dir) as operator:
        return add_record(operator, resource, company, values)


def add_record(
    operator: Operator, resource: str, company: UUID, values: JsonMapping, record_id: UUID | None = None
) -> dict[str, object]:
    """Add a record of a company, with a ledger entry; raise `Refusal` where the name, the code or the id is taken."""
    unique = "code" if "code" in values else "name"
    values = {name: texts.plain(value) if isinstance(value, str) else value for name, value in values.items()}
    values |= {"code": texts.code(values["code"])} if unique == "code" else {}
    if not values[unique].strip():
        raise Refusal(f"A {resource} needs a {unique} that is not empty.")
    record_id = record_id or new_id()
    try:
        with operator.company(company) as connection:
            if supplier := values.get("supplier_id"):
                values |= {"supplier_id": library.resolved(connection, "supplier", supplier)}
                if values["supplier_id"] is None:
                    raise Refusal(f"The company has no supplier {supplier}.")
            record = library.add(connection, resource, company, record_id, values=values, at=operator.clock.now())
            after = {name: str(v) if isinstance(v, UUID) else v for name, v in values.items() if v is not None}
            operator.enter(connection, company, f"{resource}.created", record_id, after=after)
    except psycopg.errors.UniqueViolation:
        raise Refusal(f"The company has a {resource} with the {unique} {values[unique]} already.") from None
    return record


def _check_country(country: str | None) -> str | None:
    if country and pycountry.countries.get(alpha_2=country.upper()) is None:
        raise typer.BadParameter(f"{country} is no ISO 3166-1 alpha-2 code.")
    return country.upper() if country else None
