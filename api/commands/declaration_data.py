"""Loads the input of `pcds declaration`: the newest data of a company, with the catalogue and the rules in force."""

from uuid import UUID

from api.commands import runs
from api.commands.operator import Operator
from pipelines.declarations.declare import Inputs
from pipelines.figures.compute import loaded_catalogue
from pipelines.figures.portfolio import up_to_date_snapshot
from warehouse import snapshots
from warehouse.rulesets.registry import Rulesets
from warehouse.settings import Settings


def load_declaration_data(operator: Operator, company_id: UUID, settings: Settings) -> Inputs:
    """Return the newest data: a snapshot that lacks a write is published again, as a run that the analyst sees too."""
    with operator.company(company_id) as connection:
        catalogue, rules = loaded_catalogue(connection), Rulesets().active(connection)
    snapshot = up_to_date_snapshot(operator.pool, settings.data_dir, company_id)
    if snapshot is None:
        runs.run(settings, "snapshot", "--company", str(company_id), refused="Nothing was declared.")
        snapshot = snapshots.current(settings.data_dir, company_id)
        assert snapshot is not None
    return Inputs(snapshot, catalogue, rules)
