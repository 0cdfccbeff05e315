"""`pcds drop-old-cluster`: removes what the upgrade of the embedded Postgres kept, after a look at the new one."""

from api.commands.operator import as_operator
from api.commands.shared import AsJson, DataDir, Refusal, show
from services import audit
from warehouse.companies.queries import every_company
from warehouse.embedded import kept, remove
from warehouse.settings import Settings


def drop_old_cluster(*, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Remove the clusters of earlier major versions; refused unless every company's audit chain verifies."""
    old = kept(Settings.load(data_dir=data_dir).data_dir)
    with as_operator(data_dir) as operator:
        companies = every_company(operator.pool)
        for company in companies:
            with operator.company(company) as connection:
                verdict = audit.verify(connection)
            if not verdict.ok:
                raise Refusal(
                    f"The audit chain of company {company} does not verify from entry {verdict.first_bad} on: keep the "
                    "old cluster and see `pcds audit verify`. Nothing was removed."
                )
    for place in old:
        remove(place)
    show({"companies_verified": len(companies), "removed": [str(place) for place in old]}, as_json=as_json)
