"""`pcds window`: raise the request limit of one key between two instants, for a migration arranged beforehand."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

import typer

from api.commands.key import company_of_key
from api.commands.operator import as_operator
from api.commands.shared import AsJson, DataDir, Refusal, show
from warehouse.access import keys, windows
from warehouse.access.windows import Window
from warehouse.companies import queries as companies

app = typer.Typer(help="Request windows: a higher ceiling for one key, for a time.", no_args_is_help=True)

_INSTANT_HELP = "2026-12-01T08:00:00Z, or a day for its beginning in UTC"


def _parse_instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"Send an instant such as {_INSTANT_HELP}.") from None
    if instant.tzinfo is None:
        if len(text) > len("2026-12-01"):
            raise typer.BadParameter(f"Say the offset too: an instant such as {_INSTANT_HELP}.")
        instant = instant.replace(tzinfo=UTC)
    return instant.astimezone(UTC)


@app.command("open")
def open_window(
    *,
    client: Annotated[UUID, typer.Option("--key", metavar="CLIENT_ID", help="The key's client id.")],
    per_minute: Annotated[
        int, typer.Option("--per-minute", min=keys.REQUESTS_PER_MINUTE + 1, max=1_000_000, help="Requests in 60 s.")
    ],
    opens_at: Annotated[
        datetime | None, typer.Option("--from", parser=_parse_instant, help=f"{_INSTANT_HELP}; default now.")
    ] = None,
    closes_at: Annotated[
        datetime | None, typer.Option("--until", parser=_parse_instant, help="The same; default until it is closed.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Open a window for a key, in place of the one that it has."""
    with as_operator(data_dir) as operator:
        window = Window(client, per_minute, opens_at or operator.clock.now(), closes_at)
        if window.closes_at is not None and window.closes_at <= window.opens_at:
            raise typer.BadParameter("A window ends after it begins.", param_hint="--until")
        company = company_of_key(operator, client)
        with operator.owner(company) as connection:
            before = windows.of(connection, client)
            windows.put(connection, company, window)
            operator.enter(
                connection,
                company,
                "window.opened",
                client,
                before=None if before is None else before.as_dict(),
                after=window.as_dict(),
            )
    _show(window, as_json=as_json)


@app.command("close")
def close_window(
    *, client: Annotated[UUID, typer.Argument(metavar="CLIENT_ID")], data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """End a key's window now; one that has ended stays as it is, one to come never begins."""
    with as_operator(data_dir) as operator:
        company = company_of_key(operator, client)
        with operator.owner(company) as connection:
            window = windows.of(connection, client)
            if window is None:
                raise Refusal(f"The key {client} has no window; `pcds window open --key {client}` opens one.")
            end = max(operator.clock.now(), window.opens_at)
            if window.closes_at is None or window.closes_at > end:
                closed = replace(window, closes_at=end)
                windows.put(connection, company, closed)
                before, after = ({"until": each.as_dict()["until"]} for each in (window, closed))
                operator.enter(connection, company, "window.closed", client, before=before, after=after)
                window = closed
    _show(window, as_json=as_json)


@app.command("list")
def list_windows(
    *,
    company: Annotated[UUID | None, typer.Option("--company", metavar="ID", help="Only of this company.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the windows of all companies, past ones and those to come among them, by company."""
    with as_operator(data_dir) as operator:
        with operator.owner() as connection:
            known = [row[0] for row in companies.every(connection)]
        if company is not None and company not in known:
            raise Refusal(f"There is no company {company}; `pcds company list` shows those there are.")
        found = []
        for company_id in known if company is None else [company]:
            with operator.owner(company_id) as connection:
                found += windows.every(connection)
    now = operator.clock.now()
    shown = [
        {
            "company_id": str(of),
            "client_id": str(window.client_id),
            **window.as_dict(),
            "open": window.opens_at <= now and (window.closes_at is None or window.closes_at > now),
        }
        for of, window in found
    ]
    show({"windows": shown}, as_json=as_json)


def _show(window: Window, *, as_json: bool) -> None:
    record: dict[str, object] = {"client_id": str(window.client_id), **window.as_dict()}
    show(record, as_json=as_json)
