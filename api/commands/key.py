"""`pcds key`: issue, roll, revoke and list API keys. A key is shown once, when it is issued."""

from dataclasses import replace
from typing import Annotated
from uuid import UUID

import typer

from api.commands.operator import Operator, as_operator, find_company, new_id
from api.commands.shared import AsJson, CompanyId, DataDir, Refusal, check_choices, show, split_values
from schemas import texts
from schemas.vocabularies import VOCABULARIES
from services.sandboxes import make
from warehouse.access import keys, windows
from warehouse.companies import queries as companies
from warehouse.companies import sandboxes

app = typer.Typer(help="API keys of a company.", no_args_is_help=True)


@app.command("issue")
def issue(
    *,
    company: CompanyId,
    scopes: Annotated[list[str], typer.Option("--scopes", help="read, write or both.")] = ["read,write"],  # noqa: B006
    name: Annotated[str, typer.Option("--name", help="Names the key's actor in the audit log.")] = "api key",
    allow_any_plan: Annotated[bool, typer.Option("--allow-any-plan", help="Though the plan includes none.")] = False,
    test: Annotated[bool, typer.Option("--test", help="A test key: it reaches the company's sandbox alone.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Issue a key, with --test one of the company's sandbox, which is made where there is none."""
    granted = check_choices(VOCABULARIES["scope"], split_values(scopes))
    if not granted:
        raise typer.BadParameter("A key needs a scope: read, write or both.")
    client_id = new_id()
    with as_operator(data_dir) as operator:
        company, is_test = _reached(operator, company, test=test)
        key = keys.new_key(is_test=is_test)
        issue_key(
            operator, company, client_id=client_id, key=key, name=name, scopes=granted, allow_any_plan=allow_any_plan
        )
    show({"client_id": str(client_id), "api_key": key, "scopes": granted}, as_json=as_json)


def _reached(operator: Operator, company: UUID, *, test: bool) -> tuple[UUID, bool]:
    """Return the company that a key is to reach, and whether it is a sandbox."""
    with operator.company(company) as connection:
        if sandboxes.account_of(connection, company) is not None:
            return company, True
    if not test:
        return company, False
    with operator.owner() as owner:
        return make(owner, company, origin=operator.origin, now=operator.clock.now()), True


def issue_key(
    operator: Operator,
    company: UUID,
    *,
    client_id: UUID,
    key: str,
    name: str,
    scopes: list[str],
    allow_any_plan: bool = False,
) -> None:
    """Store a key for a company, with a ledger entry; raise `Refusal` where the plan includes no keys."""
    name = texts.plain(name)
    with operator.company(company) as connection:
        _, plan = find_company(connection, company)
        if not (allow_any_plan or companies.allows_keys(connection, plan)):
            raise Refusal(f"The plan {plan} includes no API keys; --allow-any-plan issues one all the same.")
        keys.issue(connection, company, client_id, key=key, name=name, scopes=scopes, at=operator.clock.now())
        operator.enter(connection, company, "api_key.issued", client_id, after={"name": name, "scopes": scopes})


@app.command("revoke")
def revoke(
    *, client: Annotated[UUID, typer.Argument(metavar="CLIENT_ID")], data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """End a key at once; ending it again changes nothing."""
    with as_operator(data_dir) as operator:
        company, at = company_of_key(operator, client), operator.clock.now()
        with operator.company(company) as connection:
            if keys.revoke(connection, client, at):
                after = {"revoked_at": at.isoformat()}
                operator.enter(connection, company, "api_key.revoked", client, before={"revoked_at": None}, after=after)
            [record] = [key for key in keys.every(connection) if key["client_id"] == client]
    show(record, as_json=as_json)


@app.command("roll")
def roll(
    *,
    client: Annotated[UUID, typer.Argument(metavar="CLIENT_ID")],
    end_old: Annotated[bool, typer.Option("--end-old", help="End the old key now, as where it has leaked.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Issue a key with the name, scopes and request window of another, which still counts until it is revoked.

    Give the new key to its program, then `pcds key revoke` the old one. What was sent with the old key and an
    Idempotency-Key is repeated with the old key: the new one is a client of its own.
    """
    new_client = new_id()
    with as_operator(data_dir) as operator:
        company, at = company_of_key(operator, client), operator.clock.now()
        key = keys.new_key(is_test=_reached(operator, company, test=False)[1])
        with operator.owner(company) as connection:
            old = next(each for each in keys.with_use(connection) if each.client_id == client)
            if old.revoked_at is not None:
                raise Refusal("This key was revoked; `pcds key issue` issues a new one.")
            keys.issue(connection, company, new_client, key=key, name=old.name, scopes=old.scopes, at=at)
            after = {"name": old.name, "scopes": old.scopes}
            operator.enter(connection, company, "api_key.issued", new_client, after=after)
            if (window := windows.of(connection, client)) is not None:
                moved = replace(window, client_id=new_client)
                windows.put(connection, company, moved)
                operator.enter(connection, company, "window.opened", new_client, after=moved.as_dict())
            if end_old:
                keys.revoke(connection, client, at)
                ended = {"revoked_at": at.isoformat()}
                operator.enter(connection, company, "api_key.revoked", client, before={"revoked_at": None}, after=ended)
    record = {"client_id": str(new_client), "api_key": key, "scopes": old.scopes, "old_client_id": str(client)}
    show(record | {"old_revoked_at": at if end_old else None}, as_json=as_json)


def company_of_key(operator: Operator, client: UUID) -> UUID:
    """Return the company that owns the key; raise `Refusal` where there is no such key."""
    with operator.owner() as connection:
        company = keys.company_of(connection, client)
    if company is None:
        raise Refusal(f"There is no key with the client id {client}; `pcds key list` shows a company's.")
    return company


@app.command("list")
def list_keys(company: CompanyId, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List a company's keys, the revoked ones and those of its sandbox too; never the keys themselves."""
    with as_operator(data_dir) as operator:
        with operator.company(company) as connection:
            listed = [{**key, "test": False} for key in keys.every(connection)]
        with operator.pool.system() as connection:
            sandbox = sandboxes.of(connection, company)
        if sandbox is not None:
            with operator.company(sandbox) as connection:
                listed += [{**key, "test": True} for key in keys.every(connection)]
    show({"keys": listed}, as_json=as_json)
