"""`pcds supplier-request`: ask a supplier about components of a SKU, and list the requests."""

from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from api.operate import serve as supervisor
from api.operate.program import CompanyId, Refusal, as_operator, command, split_values
from schemas import texts
from schemas.json_values import JsonObject
from schemas.refusals import Refused
from services import suppliers as operations
from warehouse import suppliers
from warehouse.companies.queries import every_company
from warehouse.operate.settings import Settings

app = typer.Typer(help="Requests to suppliers.", no_args_is_help=True)


@command(app, "create")
def create(
    data_dir: Path | None,
    *,
    company: CompanyId,
    sku: Annotated[str, typer.Option("--sku", help="sku_code of the SKU that it is about.")],
    component: Annotated[
        list[str] | None, typer.Option("--component", help="Id of a line of its graph; all where none is named.")
    ] = None,
    supplier_name: Annotated[str | None, typer.Option("--supplier-name", help="Whom the link is sent to.")] = None,
) -> JsonObject:
    """Make a link for a supplier; it is shown this once."""
    component_ids = [_parse_component_id(text) for text in split_values(component or [])]
    with as_operator(data_dir) as operator, operator.company(company) as connection:
        try:
            request, token = operations.create_request(
                connection,
                operator.actor(company),
                sku_code=texts.code(sku),
                component_ids=component_ids,
                supplier_name=supplier_name and texts.plain(supplier_name),
            )
        except Refused as refused:
            raise Refusal(str(refused)) from None
    url = f"{supervisor.known_address(Settings.load(data_dir=data_dir))}/supplier-data/{token}"
    ids = [str(component_id) for component_id in request.component_ids]
    return {"id": str(request.id), "url": url, "token": token, "component_ids": ids}


@command(app, "list")
def list_requests(
    data_dir: Path | None,
    *,
    company: Annotated[UUID | None, typer.Option("--company", help="Only this company's.")] = None,
) -> JsonObject:
    """List requests, newest first within each company; never their links."""
    names = ("state", "sku_code", "supplier_name", "created_at")
    records: list[dict[str, object]] = []
    with as_operator(data_dir) as operator:
        for owner in [company] if company else every_company(operator.pool):
            with operator.company(owner) as connection:
                records += [
                    {"id": request.id, "company_id": owner}
                    | {name: getattr(request, name) for name in names}
                    | {"component_ids": [str(component) for component in request.component_ids]}
                    for request in suppliers.newest_requests(connection)
                ]
    return {"requests": records}


def _parse_component_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise typer.BadParameter(f"{text} is no id of a component; GET /skus/{{id}} shows them.") from None
