"""`pcds deployment-key`: roll `connector.key` or `audit.key`, or go on where one is lost (docs/operations.md)."""

from typing import Annotated

import typer

from api.commands.operator import Operator, as_operator
from api.commands.shared import AsJson, DataDir, Refusal, check_choices, show
from schemas.refusals import Refused
from warehouse import deployment_keys, resealing
from warehouse.companies.queries import every_company
from warehouse.deployment_keys import CONNECTOR, NAMES, State
from warehouse.settings import Settings

app = typer.Typer(help="The deployment's own keys: files of the data directory.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help=" or ".join(NAMES))]


@app.command("new")
def new(name: Name, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Make a new key beside the old one, which is kept as NAME.old; nothing is sealed with it yet."""
    settings = Settings.load(data_dir=data_dir)
    check_choices(NAMES, [name])
    with as_operator(data_dir) as operator:
        if (found := _state(operator, settings, name)) is not None:
            raise Refusal(f"{settings.data_dir / name} is not the key in force ({found}); `pcds doctor` says more.")
    try:
        old = deployment_keys.make_new(settings, name)
    except FileExistsError as error:
        raise Refusal(f"{error.args[0]} is still there from an earlier roll; remove it first.") from None
    show({"key": str(settings.data_dir / name), "old": str(old)}, as_json=as_json)


@app.command("reseal")
def reseal(name: Name, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Put a new key in force: what is stored sealed is sealed with it, all or nothing, while the service runs."""
    settings = Settings.load(data_dir=data_dir)
    check_choices(NAMES, [name])
    with as_operator(data_dir) as operator:
        if _state(operator, settings, name) not in ("rolling", None):
            raise Refusal(f"Neither {name} nor {name}.old in {settings.data_dir} is this deployment's key.")
        _put_in_force(operator, settings, name, as_json=as_json)


@app.command("give-up")
def give_up(name: Name, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Go on with the key that lies here, or a new one, though the deployment's is lost: what that sealed is lost."""
    settings = Settings.load(data_dir=data_dir)
    check_choices(NAMES, [name])
    with as_operator(data_dir) as operator:
        if _state(operator, settings, name) not in ("missing", "wrong"):
            raise Refusal(f"{settings.data_dir / name} is this deployment's key; nothing is lost.")
        with operator.owner() as owner:
            deployment_keys.put_in_force(owner, settings, name)
        _put_in_force(operator, settings, name, as_json=as_json)


def _state(operator: Operator, settings: Settings, name: str) -> State | None:
    with operator.owner() as owner:
        return deployment_keys.state(owner, settings, name)


def _put_in_force(operator: Operator, settings: Settings, name: str, *, as_json: bool) -> None:
    companies = every_company(operator.pool)
    with operator.owner() as owner:
        if name != CONNECTOR:
            deployment_keys.put_in_force(owner, settings, name)
            show({"key": str(settings.data_dir / name)}, as_json=as_json)
            return
        try:
            done = resealing.reseal(owner, settings, companies)
        except Refused as refused:
            raise Refusal(refused.sentence) from None
    show({"key": str(settings.data_dir / name), **done._asdict()}, as_json=as_json)
