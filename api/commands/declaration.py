"""`pcds declaration`: write the tonnes of one market and period to a file for submission, and list what is not counted.

`pipelines.declarations` makes the contents; docs/declarations.md describes the options of the UK file. `pcds
declaration ratings` is `declaration_ratings`.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer
from typer.core import TyperGroup

from api.commands import declaration_inputs
from api.commands.declaration_ratings import ratings
from api.commands.operator import operator
from api.commands.shared import AsJson, CompanyId, DataDir, Refusal, one_of, show
from compliance.declarations.uk.lines import Statements
from compliance.declarations.uk.producer import Producer
from compliance.declarations.uk.rules import FileRefused
from compliance.declarations.uk.tables import codes
from pipelines.declarations import declare, files, forms, statements
from pipelines.declarations.parcel import FORMS, Asked, by_category, explained, left_out, uk_file
from warehouse.settings import Settings

_UK: Final = "of the UK file (--format rpd)"
_REFUSALS: Final = (declare.NotDeclarable, statements.StatementsRefused, OverflowError)


class _Declaring(TyperGroup):
    """`pcds declaration OUT` declares; only the name of another command behind it is that command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the arguments with the name of the command that they mean."""
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["write", *args])


def declaration(  # noqa: PLR0917  (each is an option by name)
    out: Annotated[Path, typer.Argument(metavar="OUT", dir_okay=False, help="The file to write.")],
    company: CompanyId,
    market: Annotated[str, typer.Option("--market", help="A jurisdiction of the catalogue: FR, GB, CA-ON.")],
    year: Annotated[int, typer.Option("--year", min=2000, max=2100, help="The calendar year.")],
    half: Annotated[
        int | None, typer.Option("--half", min=1, max=2, help="1 or 2, for GB; without it the year.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="rpd (the UK file), csv or json.")] = "csv",
    organisation_id: Annotated[str | None, typer.Option("--organisation-id", help=f"Six digits, {_UK}.")] = None,
    organisation_size: Annotated[str, typer.Option("--organisation-size", help=f"L or S, {_UK}.")] = "L",
    activity: Annotated[str, typer.Option("--activity", help=f"SO, PF, IM, SE, HL or OM, {_UK}.")] = "SO",
    household_type: Annotated[str, typer.Option("--type", help=f"HH or NH, {_UK}.")] = "HH",
    subsidiary_id: Annotated[str, typer.Option("--subsidiary-id", help=f"Up to 32 letters or digits, {_UK}.")] = "",
    ram: Annotated[Path | None, typer.Option("--ram", help="CSV sku_code, component_type, rating.")] = None,
    drinks: Annotated[Path | None, typer.Option("--drinks", help="CSV sku_code, drinks_container (Y or N).")] = None,
    explain: Annotated[
        str | None, typer.Option("--explain", help="A code of OUT (GL): what its figure is made of.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write a declaration from the newest data, and say what it holds and what could not be counted.

    Exit status 0 also where something is not counted: it stands in OUT (json) or in `.uncounted.csv` beside it.
    `pcds declaration ratings OUT` proposes the ratings that --ram takes.
    """
    asked = Asked(market, year, half or declare.YEAR, one_of(FORMS, [form])[0], out, explain)
    producer = Producer(organisation_id or "", organisation_size, activity, household_type, subsidiary_id)
    _check(asked, producer, ram, drinks)
    try:
        with operator(data_dir) as at_work:
            inputs = declaration_inputs.inputs(at_work, company, Settings.load(data_dir=data_dir))
            asked = replace(asked, market=declare.declared_market(inputs, market, asked.half))
            said = Statements(producer, year, asked.half, statements.ratings(ram), statements.drinks(drinks))
            parcel = uk_file(inputs, asked, said) if form == "rpd" else by_category(inputs, asked)
            with at_work.company(company) as connection:
                parcel = explained(inputs, asked, parcel, said, connection)
        files.write(parcel.files)
    except FileRefused as refused:
        raise Refusal(f"{refused}{_with_what_is_left_out(asked, refused)}") from None
    except _REFUSALS as refused:
        raise Refusal(str(refused)) from None
    except OSError as error:
        raise Refusal(f"{out} cannot be written: {error.strerror}.") from None
    show(orjson.loads(forms.as_json(parcel.record)), as_json=as_json)


def _with_what_is_left_out(asked: Asked, refused: FileRefused) -> str:
    """Write a refused file's uncounted SKUs beside its place; return the sentence that says so."""
    if refused.uncounted is None or refused.uncounted.is_empty():
        return ""
    written = left_out(asked, refused.uncounted)
    try:
        files.write(written)
    except OSError as error:
        return f" What is not counted cannot be written: {error.strerror}."
    return f" Each is in {next(iter(written))} with what it lacks."


def _check(asked: Asked, producer: Producer, ram: Path | None, drinks: Path | None) -> None:
    """Report wrong usage before anything is read: unknown codes, and options of the UK file with another form."""
    one_of(tuple(codes("organisation_size")), [producer.organisation_size])
    one_of(tuple(codes("packaging_activity")), [producer.activity])
    one_of(tuple(codes("household_type")), [producer.household_type])
    if asked.form == "rpd" and not producer.organisation_id:
        raise typer.BadParameter("The UK file names the organisation by six digits.", param_hint="--organisation-id")
    if asked.form != "rpd" and (ram or drinks or producer != Producer("")):
        raise typer.BadParameter("The options of the UK file go with --format rpd.", param_hint="--format")


app = typer.Typer(cls=_Declaring, help="Declare a market and period, or propose the ratings of its parts.")
app.command("write")(declaration)
app.command("ratings")(ratings)
