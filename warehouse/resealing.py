"""Seals anew what rests sealed, after the deployment's key was rolled; then the old key opens nothing that is stored.

What belongs here: which columns hold sealed bytes, and what each is bound to. What does not: the files of the keys
(`warehouse.deployment_keys`).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple
from uuid import UUID

from psycopg import sql

from warehouse import deployment_keys
from warehouse.sealing import SECOND_FACTORS, WEBHOOKS, Seal
from warehouse.sessions import Connection, become
from warehouse.settings import Settings

SEALED: Final = (
    ("users", "totp_secret", SECOND_FACTORS),
    ("webhooks", "secret", WEBHOOKS),
    ("webhooks", "old_secret", WEBHOOKS),
)
"""Each table and column with sealed bytes, and their purpose; all are bound to the row's id."""
_READ: Final = sql.SQL("SELECT id, {0} FROM {1} WHERE {0} IS NOT NULL AND {0} <> ''::bytea FOR UPDATE")
_WRITE: Final = sql.SQL("UPDATE {1} SET {0} = %s WHERE id = %s")


class Resealed(NamedTuple):
    """How many secrets were sealed anew, and how many no key that lies here opens: they were lost before."""

    sealed: int
    lost: int


def reseal(owner: Connection, settings: Settings, companies: Iterable[UUID]) -> Resealed:
    """Seal all companies' secrets with the new `connector.key` and put it in force, in the owner's transaction.

    Raise `Refused` where neither the key nor the old one is the deployment's.
    """
    deployment_keys.lock_alone(owner)
    keys = deployment_keys.every(settings)
    deployment_keys.in_force(owner, tuple(map(deployment_keys.probe_of, keys)))
    deployment_keys.put_in_force(owner, settings, deployment_keys.CONNECTOR)
    done, lost = 0, 0
    for company_id in companies:
        become(owner, company_id)
        for table, column, purpose in SEALED:
            named, seal = (sql.Identifier(column), sql.Identifier(table)), Seal(keys, purpose)
            for row_id, sealed in owner.execute(_READ.format(*named)).fetchall():
                opened = seal.unseal(bytes(sealed), row_id.bytes)
                if opened is None:
                    lost += 1
                    continue
                owner.execute(_WRITE.format(*named), (seal.seal_to_keep(owner, opened, row_id.bytes), row_id))
                done += 1
    return Resealed(done, lost)
