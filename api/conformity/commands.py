"""`pcds doc`: add Declarations of Conformity as an operator; callers list them by GET /docs."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Final
from uuid import UUID

import typer

from api.operate.program import AsJson, CompanyId, DataDir, Operator, Refusal, as_operator, check_choices, new_id, show
from schemas import texts
from schemas.conformity import DocListItem
from schemas.vocabularies import VOCABULARIES
from services.skus.archive import why_not_held
from warehouse import conformity
from warehouse.skus import queries as skus

app: Final = typer.Typer(no_args_is_help=True, help="Declarations of Conformity.")


@app.callback()
def _group() -> None:
    pass


def _parse_day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text} is no date; write it as 2026-08-12.") from None


@app.command("add")
def add_doc(
    *,
    company: CompanyId,
    sku: Annotated[str, typer.Option("--sku", help="sku_code of the SKU that it covers.")],
    reference: Annotated[str, typer.Option("--reference", help="The company's reference of the document.")],
    status: Annotated[str, typer.Option("--status", help="draft, pending, valid, expired or rejected.")],
    issued_on: Annotated[date | None, typer.Option("--issued-on", parser=_parse_day, help="ISO date.")] = None,
    expires_on: Annotated[
        date | None, typer.Option("--expires-on", parser=_parse_day, help="Last day of the declaration.")
    ] = None,
    supplier_name: Annotated[str | None, typer.Option("--supplier-name", help="Who issued it.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Add a declaration of one SKU, whose doc_status follows from it."""
    check_choices(VOCABULARIES["doc_record_status"], [status])
    values = {
        "reference": texts.plain(reference),
        "supplier_name": supplier_name and texts.plain(supplier_name),
        "status": status,
        "issued_on": issued_on,
        "expires_on": expires_on,
    }
    if not texts.plain(reference).strip():
        raise Refusal("A DoC needs a reference that is not empty.")
    if issued_on and expires_on and expires_on < issued_on:
        raise Refusal(f"A DoC issued on {issued_on} cannot expire before that day; {expires_on} is before it.")
    with as_operator(data_dir) as operator:
        doc = _add(operator, company, texts.code(sku), values)
    show(doc, as_json=as_json)


def _add(operator: Operator, company: UUID, sku_code: str, values: Mapping[str, object]) -> DocListItem:
    """Add a DoC of a SKU, and an entry in the company's ledger; raise `Refusal` where there is no such SKU."""
    doc_id = new_id()
    with operator.company(company) as connection:
        sku_id = skus.id_of(connection, sku_code)
        if sku_id is None:
            raise Refusal(why_not_held(connection, [sku_code])[sku_code].message)
        values = {"sku_id": sku_id, **values}
        doc = conformity.add(connection, company, doc_id, values=values, at=operator.clock.now())
        after = {name: value if isinstance(value, str) else str(value) for name, value in values.items() if value}
        operator.enter(connection, company, "doc.created", doc_id, after=after)
    return doc
