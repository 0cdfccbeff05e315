"""Ships the heads of all audit chains, signed, to the folder that the operator has chosen; reads them back.

A file is written once, under the instant, and never changed. What does not belong here: comparing a head with its chain
(`warehouse.audit.heads`).
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import UUID

import orjson

from schemas.json_values import JsonObject
from warehouse import whole_files
from warehouse.audit import heads, signing
from warehouse.audit.heads import Head
from warehouse.sessions import Pool
from warehouse.settings import Settings

_NAME: Final = "audit-heads-%Y%m%dT%H%M%S.%fZ.json"


class HeadsError(Exception):
    """A file of heads cannot be used; `str()` is a sentence that says why."""

    code = "heads_unusable"


def ship(settings: Settings, pool: Pool, folder: Path, now: datetime) -> Path:
    """Write the signed heads of all companies into a new file of the folder, whole or not at all; return the file."""
    statement = {"at": now.isoformat(), "heads": [head._asdict() for head in heads.every(pool)]}
    file = folder / now.astimezone(UTC).strftime(_NAME)
    whole_files.replace(file, orjson.dumps(signing.sign(settings, statement), option=orjson.OPT_INDENT_2))
    return file


def read(file: Path, company_id: UUID, public_key: str) -> tuple[datetime, Head]:
    """Return the instant of a file and a company's head in it. Raises `HeadsError` where the key has not signed it."""
    try:
        signed: JsonObject = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError:
        raise HeadsError(f"{file} is no file of heads; `pcds audit ship` writes one.") from None
    if not isinstance(signed, dict) or not signing.is_signed(signed, public_key):
        raise HeadsError(
            f"{file} is not signed with this key: it was altered, or another deployment signed it. Name that one's key "
            "with --public-key."
        )
    statement = signed["statement"]
    for found in statement["heads"]:
        if found["company_id"] == str(company_id):
            return datetime.fromisoformat(statement["at"]), Head(**found)
    raise HeadsError(f"{file} has no head of the company {company_id}.")
