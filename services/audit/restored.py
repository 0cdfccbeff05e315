"""Enters the revocations of a restore in the ledger of each company: one transaction for each, by the operator."""

from uuid import UUID

from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.backup import Ended
from warehouse.sessions import Connection, Pool


def enter_revocations(pool: Pool, ended: Ended, origin: Origin) -> None:
    """Enter each key, connection, supplier's link and webhook that the restore ended, at the instant of the restore."""
    for company_id in sorted({company_id for company_id, *_ in _revocations(ended)}):
        with pool.company(company_id) as connection:
            _enter_of_company(connection, company_id, ended, origin)


def _enter_of_company(connection: Connection, company_id: UUID, ended: Ended, origin: Origin) -> None:
    at = ended.at.isoformat()
    for company, record_id, action, before, after in _revocations(ended):
        if company == company_id:
            ledger.enter(
                connection,
                company_id,
                action,
                record_id,
                origin=origin,
                now=ended.at,
                before=before,
                after={name: at if value is None else value for name, value in after.items()},
            )


def _revocations(ended: Ended) -> list[tuple[UUID, UUID, str, dict[str, str | None], dict[str, str | None]]]:
    revoked: dict[str, str | None] = {"revoked_at": None}
    withdrawn: dict[str, str | None] = {"withdrawn_at": None}
    opened: dict[str, str | None] = {"link": "open"}
    closed: dict[str, str | None] = {"link": "closed"}
    enabled: dict[str, str | None] = {"state": "active"}
    restored: dict[str, str | None] = {"state": "disabled"}
    return [
        *((company, key, "api_key.revoked", revoked, revoked) for company, key in ended.api_keys),
        *((company, record_id, "connection.revoked", revoked, revoked) for company, record_id in ended.connections),
        *(
            (company, record_id, "supplier_request.closed", opened, closed)
            for company, record_id in ended.supplier_requests
        ),
        *(
            (company, record_id, "supplier_enquiry.withdrawn", withdrawn, withdrawn)
            for company, record_id in ended.supplier_enquiries
        ),
        *((company, record_id, "webhook.disabled", enabled, restored) for company, record_id in ended.webhooks),
    ]
