"""`pcds audit`: verify a company's ledger against its chain of hashes."""

import typer

from api.commands.operator import as_operator
from api.commands.shared import AsJson, CompanyId, DataDir, show
from services import audit

app = typer.Typer(help="A company's audit ledger.", no_args_is_help=True)
app.callback()(lambda: None)


@app.command("verify")
def verify(*, company: CompanyId, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Compute every link anew: `ok`, or `first_bad`, the first entry that is not as it was entered.

    Exit status 0 either way: the verification was done, and `ok` is its result.
    """
    with as_operator(data_dir) as operator, operator.company(company) as connection:
        verdict = audit.verify(connection)
    show({"entries": verdict.entries, "ok": verdict.ok, "first_bad": verdict.first_bad}, as_json=as_json)
