"""`pcds declaration`: write the tonnes of one market and period to a file for submission, and list what is not counted.

`pipelines.filings` makes the contents; docs/declarations.md describes the options of the UK file.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final  # Any: typer has no public name for its context
from uuid import UUID

import typer
from typer.core import TyperGroup

from api.operate.program import (
    AsJson,
    CompanyId,
    DataDir,
    Operator,
    Refusal,
    as_operator,
    check_choices,
    run_in_dagster,
    show,
)
from compliance.filings.uk.rows import Producer, Statements
from compliance.filings.uk.rules import MARKET, FileRefused, codes
from pipelines import filings
from pipelines.figures import loaded_catalogue, up_to_date_snapshot
from pipelines.filings import Inputs
from schemas.refusals import Refused
from services.filings import files
from services.filings.files import (
    FORMS,
    DeclarationRequest,
    left_out_files,
    propose_ratings,
    with_explanation,
)
from warehouse.figures import snapshots
from warehouse.operate.settings import Settings
from warehouse.rules import Rulesets


def load_declaration_data(operator: Operator, company_id: UUID, settings: Settings) -> Inputs:
    """Return the newest data: a snapshot that lacks a write is published again, as a run that the analyst sees too."""
    with operator.company(company_id) as connection:
        catalogue, rules = loaded_catalogue(connection), Rulesets().active(connection)
    snapshot = up_to_date_snapshot(operator.pool, settings.data_dir, company_id)
    if snapshot is None:
        run_in_dagster(settings, "snapshot", "--company", str(company_id), refused="Nothing was declared.")
        snapshot = snapshots.current(settings.data_dir, company_id)
        assert snapshot is not None
    return Inputs(snapshot, catalogue, rules)


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
            declared_market = filings.declared_market(data, market, filings.YEAR)
            with operator.company(company) as connection:
                output = propose_ratings(data, declared_market, year, out, connection)
        files.write(output.files)
    except Refused as refused:
        raise Refusal(str(refused)) from None
    except OSError as error:
        raise Refusal(f"{out} cannot be written: {error.strerror}.") from None
    show(output.record, as_json=as_json)


_OF_UK_FILE: Final = "of the UK file (--format rpd)"
_REFUSALS: Final = (Refused, OverflowError)


class _DefaultToWrite(TyperGroup):
    """`pcds declaration OUT` declares; only the name of another command behind it is that command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # typer has no public name for it
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
    form: Annotated[
        str, typer.Option("--format", help="rpd (the UK file), annex_ix (Article 44), csv or json.")
    ] = "csv",
    organisation_id: Annotated[
        str | None, typer.Option("--organisation-id", help=f"Six digits, {_OF_UK_FILE}.")
    ] = None,
    organisation_size: Annotated[str, typer.Option("--organisation-size", help=f"L or S, {_OF_UK_FILE}.")] = "L",
    activity: Annotated[str, typer.Option("--activity", help=f"SO, PF, IM, SE, HL or OM, {_OF_UK_FILE}.")] = "SO",
    household_type: Annotated[str, typer.Option("--type", help=f"HH or NH, {_OF_UK_FILE}.")] = "HH",
    subsidiary_id: Annotated[
        str, typer.Option("--subsidiary-id", help=f"Up to 32 letters or digits, {_OF_UK_FILE}.")
    ] = "",
    ratings_file: Annotated[Path | None, typer.Option("--ram", help="CSV sku_code, component_type, rating.")] = None,
    drinks_file: Annotated[
        Path | None, typer.Option("--drinks", help="CSV sku_code, drinks_container (Y or N).")
    ] = None,
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
    wanted = DeclarationRequest(market, year, half or filings.YEAR, check_choices(FORMS, [form])[0], out, explain)
    producer = Producer(organisation_id or "", organisation_size, activity, household_type, subsidiary_id)
    _check(wanted, producer, ratings_file, drinks_file)
    try:
        with as_operator(data_dir) as operator:
            data = load_declaration_data(operator, company, Settings.load(data_dir=data_dir))
            wanted = replace(wanted, market=filings.declared_market(data, market, wanted.half))
            stated = Statements(producer, year, wanted.half, files.ratings(ratings_file), files.drinks(drinks_file))
            with operator.company(company) as connection:
                data = replace(data, reporter=files.reporter_of(connection, wanted.market))
            output = files.bundle(data, wanted, stated if form == "rpd" else None)
            with operator.company(company) as connection:
                output = with_explanation(data, wanted, output, stated, connection)
        files.write(output.files)
    except FileRefused as refused:
        raise Refusal(f"{refused}{_write_left_out(wanted, refused)}") from None
    except _REFUSALS as refused:
        raise Refusal(str(refused)) from None
    except OSError as error:
        raise Refusal(f"{out} cannot be written: {error.strerror}.") from None
    show(output.record, as_json=as_json)


def _write_left_out(wanted: DeclarationRequest, refused: FileRefused) -> str:
    """Write a refused file's uncounted SKUs beside its place; return the sentence that says so."""
    if refused.uncounted is None or refused.uncounted.is_empty():
        return ""
    written = left_out_files(wanted, refused.uncounted)
    try:
        files.write(written)
    except OSError as error:
        return f" What is not counted cannot be written: {error.strerror}."
    return f" Each is in {next(iter(written))} with what it lacks."


def _check(wanted: DeclarationRequest, producer: Producer, ratings_file: Path | None, drinks_file: Path | None) -> None:
    """Report wrong usage before anything is read: unknown codes, and options of the UK file with another form."""
    check_choices(tuple(codes("organisation_size")), [producer.organisation_size])
    check_choices(tuple(codes("packaging_activity")), [producer.activity])
    check_choices(tuple(codes("household_type")), [producer.household_type])
    if wanted.form == "rpd" and not producer.organisation_id:
        raise typer.BadParameter("The UK file names the organisation by six digits.", param_hint="--organisation-id")
    if wanted.form != "rpd" and (ratings_file or drinks_file or producer != Producer("")):
        raise typer.BadParameter("The options of the UK file go with --format rpd.", param_hint="--format")


app = typer.Typer(cls=_DefaultToWrite, help="Declare a market and period, or propose the ratings of its parts.")
app.command("write")(declaration)
app.command("ratings")(ratings)
