"""`pcds declaration ratings`: propose a scheme's ratings of the parts that a market declares, for a person to check.

`compliance.schemes` computes the ratings; the checked file is given to `pcds declaration --ram`.
"""

from pathlib import Path
from typing import Annotated

import orjson
import typer

from api.commands.declaration_data import load_declaration_data
from api.commands.operator import as_operator
from api.commands.shared import AsJson, CompanyId, DataDir, Refusal, show
from compliance.declarations.uk.tables import MARKET
from pipelines.declarations import declare, files
from pipelines.declarations.proposals import propose_ratings
from warehouse.settings import Settings


def ratings(  # noqa: PLR0917  (each is an option by name)
    out: Annotated[Path, typer.Argument(metavar="OUT", dir_okay=False, help="The file of ratings to write.")],
    company: CompanyId,
    year: Annotated[int, typer.Option("--year", min=2000, max=2100, help="The reporting year.")],
    market: Annotated[str, typer.Option("--market", help="A market that has a scheme.")] = MARKET,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Propose a rating for each part placed on the market in the year. A person checks them; nothing is declared.

    What no rating could be found for, and what could still change one, stands in `.open.csv` beside OUT.
    """
    try:
        with as_operator(data_dir) as operator:
            data = load_declaration_data(operator, company, Settings.load(data_dir=data_dir))
            declared_market = declare.declared_market(data, market, declare.YEAR)
            with operator.company(company) as connection:
                output = propose_ratings(data, declared_market, year, out, connection)
        files.write(output.files)
    except declare.NotDeclarable as refused:
        raise Refusal(str(refused)) from None
    except OSError as error:
        raise Refusal(f"{out} cannot be written: {error.strerror}.") from None
    show(orjson.loads(orjson.dumps(output.record)), as_json=as_json)
