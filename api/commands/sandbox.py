"""`pcds sandbox`: empties the company that an account's test keys reach, as `POST /sandbox/reset` does."""

import typer

from api.commands.operator import as_operator
from api.commands.shared import AsJson, CompanyId, DataDir, Refusal, show
from services import sandboxes
from warehouse.companies import sandboxes as stored
from warehouse.settings import Settings

app = typer.Typer(help="The sandbox of a company, which its test keys reach.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Keep `reset` a command of its own, though it is the only one."""


@app.command("reset")
def reset(company: CompanyId, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Empty a company's sandbox; test keys, windows and tokens stay. The company itself is not touched."""
    with as_operator(data_dir) as operator:
        now = operator.clock.now()
        with operator.owner() as owner:
            before = stored.of(owner, company)
            if before is None:
                raise Refusal("The company has no sandbox; `pcds key issue --test` makes one.")
            done = sandboxes.reset(owner, company, before, origin=operator.origin, now=now)
        sandboxes.erase_left(Settings.load(data_dir=data_dir), operator.database, now)
    show({"company_id": str(company), "sandbox_id": str(done.sandbox), "skus_removed": done.skus}, as_json=as_json)
