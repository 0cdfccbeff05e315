"""`pcds audit`: verify a company's ledger against its chain of hashes."""

from pathlib import Path
from typing import Annotated

import typer

from api.commands.operator import as_operator
from api.commands.shared import AsJson, CompanyId, DataDir, Refusal, show
from services import audit
from services.company_export import ExportError, load_ledger, read
from warehouse.companies import removed
from warehouse.sessions import Connection

app = typer.Typer(help="A company's audit ledger.", no_args_is_help=True)
app.callback()(lambda: None)


@app.command("verify")
def verify(
    *,
    company: CompanyId,
    exported: Annotated[
        Path | None, typer.Option("--exported", help="Of a removed company: the export, computed anew, too.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Compute every link anew: `ok`, or `first_bad`, the first entry that is not as it was entered.

    Exit status 0 either way: the verification was done, and `ok` is its result.
    """
    with as_operator(data_dir) as operator:
        with operator.owner(company) as owner:
            left = removed.of(owner, company)
            record = None if left is None else _of_removed(owner, left, exported)
        if record is None:
            with operator.company(company) as connection:
                verdict = audit.verify(connection)
            record = {"entries": verdict.entries, "ok": verdict.ok, "first_bad": verdict.first_bad}
    show(record, as_json=as_json)


def _of_removed(owner: Connection, left: removed.Removed, exported: Path | None) -> dict[str, object]:
    """Return the verdict on the kept hashes of a removed company, and on its export where one is given."""
    record: dict[str, object] = {"entries": left.entries, "ok": removed.agrees(owner, left), "first_bad": None}
    if exported is not None:
        try:
            read(exported, left.company)
        except ExportError as error:
            raise Refusal(str(error)) from None
        load_ledger(owner, exported)
        verdict = audit.verify(owner)
        head = removed.head_of_loaded(owner, left.company)
        same = verdict.ok and head == left.head
        record |= {"ok": bool(record["ok"]) and same, "first_bad": verdict.first_bad, "export_ok": same}
    return record | {"removed_at": left.begun_at}
