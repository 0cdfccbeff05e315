"""`pcds declaration ratings`: propose a scheme's ratings of the parts that a market declares, for a person to check.

`compliance.schemes` computes the ratings; the checked file is given to `pcds declaration --ram`.
"""

from pathlib import Path
from typing import Annotated

import orjson
import typer

from api.commands.declaration_inputs import inputs
from api.commands.operator import operator
from api.commands.shared import AsJson, CompanyId, DataDir, Refusal, show
from compliance.declarations.uk.tables import MARKET
from pipelines.declarations import declare, files
from pipelines.declarations.proposed import proposed
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
        with operator(data_dir) as at_work:
            found = inputs(at_work, company, Settings.load(data_dir=data_dir))
            declared = declare.declared_market(found, market, declare.YEAR)
            with at_work.company(company) as connection:
                parcel = proposed(found, declared, year, out, connection)
        files.write(parcel.files)
    except declare.NotDeclarable as refused:
        raise Refusal(str(refused)) from None
    except OSError as error:
        raise Refusal(f"{out} cannot be written: {error.strerror}.") from None
    show(orjson.loads(orjson.dumps(parcel.record)), as_json=as_json)
