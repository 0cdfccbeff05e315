"""`pcds audit`: verify a company's ledger against its chain of hashes, and ship the chains' heads."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import typer

from api.operate.program import AsJson, CompanyId, DataDir, Refusal, as_operator, show
from pipelines import operate
from services import audit as audit_services
from services.audit import verify_export, verify_hashes
from services.companies import ExportError
from warehouse.audit import chain
from warehouse.audit.chain import Head, stayed, still_stands
from warehouse.companies import removal
from warehouse.operate.sessions import Connection
from warehouse.operate.settings import Settings

_GONE: Final = (
    "The chain does not have the head of {at}, its link {links}: it was computed anew since, or a backup that was made "
    "before was restored. Verify against earlier files of heads: what differs came after the last one that stands."
)

app = typer.Typer(help="A company's audit ledger.", no_args_is_help=True)
app.callback()(lambda: None)


@app.command("verify")
def verify(
    *,
    company: CompanyId,
    exported: Annotated[
        Path | None, typer.Option("--exported", help="Of a removed company: the export, computed anew, too.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option("--against", help="A shipped file of heads; its head must stand in the chain.")
    ] = None,
    public_key: Annotated[
        str | None, typer.Option("--public-key", help="Of the deployment that signed it; default this one's.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Compute every link anew: `ok`, or `first_bad`, the first entry that is not as it was entered.

    Where an export or a shipped head does not agree, `reason` says why and what to do. Exit status 0 either way: the
    verification was done, and `ok` is its result.
    """
    shipped = None if against is None else _shipped(against, company, public_key, data_dir)
    with as_operator(data_dir) as operator:
        with operator.owner(company) as owner:
            left = removal.find_removal(owner, company)
            if left is not None:
                record = _of_removed(owner, left, exported) | _stands(shipped, partial(stayed, owner))
        if left is None:
            with operator.company(company) as connection:
                if exported is not None:
                    raise Refusal(f"The company {company} is here: without --exported its own ledger is verified.")
                verdict = audit_services.verify(connection)
                record = {"entries": verdict.entries, "ok": verdict.ok, "first_bad": verdict.first_bad}
                record |= _stands(shipped, partial(still_stands, connection))
    show(record | {"ok": record["ok"] and record.get("head_ok", True)}, as_json=as_json)


def _shipped(file: Path, company: UUID, public_key: str | None, data_dir: Path | None) -> tuple[datetime, Head]:
    """Return the company's head in a shipped file, and when it was shipped."""
    try:
        return operate.read(file, company, public_key or chain.public_key(Settings.load(data_dir=data_dir)))
    except operate.HeadsError as error:
        raise Refusal(str(error)) from None


def _stands(shipped: tuple[datetime, Head] | None, stands: Callable[[Head], bool]) -> dict[str, object]:
    """Return the verdict on a shipped head, and the reason where it does not stand; nothing where none is given."""
    if shipped is None:
        return {}
    at, head = shipped
    verdict = {"head_at": at, "head_links": head.links, "head_ok": stands(head)}
    return verdict if verdict["head_ok"] else verdict | {"reason": _GONE.format(at=at.isoformat(), links=head.links)}


@app.command("ship")
def ship(
    *,
    folder: Annotated[
        Path | None, typer.Option("--to", help="An existing folder; default that of PCDS_AUDIT_HEADS.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write the signed heads of all companies' chains into a new file; the service does so once a day by the setting.

    Keep the public key that it prints where the owner of this machine cannot write.
    """
    settings = Settings.load(data_dir=data_dir)
    target = folder or settings.audit_heads
    if target is None:
        raise typer.BadParameter("Name a folder with --to, or set PCDS_AUDIT_HEADS.")
    with as_operator(data_dir) as operator:
        file = operate.ship(settings, operator.pool, target, operator.clock.now())
    show({"file": str(file), "public_key": chain.public_key(settings)}, as_json=as_json)


def _of_removed(owner: Connection, left: removal.Removed, exported: Path | None) -> dict[str, object]:
    """Return the verdict on the kept hashes of a removed company, and on its export where one is given."""
    hashes = export = verify_hashes(owner, left)
    record: dict[str, object] = {"entries": left.entries, "ok": hashes.ok, "first_bad": None}
    if exported is not None:
        try:
            export = verify_export(owner, left, exported)
        except ExportError as error:
            raise Refusal(str(error)) from None
        record |= {"ok": hashes.ok and export.ok, "first_bad": export.first_bad, "export_ok": export.ok}
    reason = hashes.reason or export.reason
    return record | {"removed_at": left.begun_at} | ({"reason": reason} if reason else {})
