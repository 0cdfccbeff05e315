"""Builds links for staff to runs in Dagster: the address of its Runs page, filtered by tag."""

from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from warehouse.dagster_home import PREFIX

_TAG: Final = "pcds/import_id"
"""`pipelines.engine.tags.IMPORT`, which the API cannot import, because it does not import Dagster."""


def address_of_import_runs(import_id: UUID) -> str:
    """Return the address of an import's runs."""
    return f"{PREFIX}/runs?{urlencode({'q[0]': f'tag:{_TAG}={import_id}'}, safe='[]:/=')}"
