"""Publication: a run per company, with its partition, its figures and its checks."""

import dagster as dg

from pipelines.commands import publish_company
from tests.pipelines.conftest import Desk
from warehouse.figures.snapshots import current

FILE = "sku_code,name,annual_volume_fr_2026\nP1,Bottle,5\nP2,Jar,7"


def test_a_run_publishes_a_company_under_its_own_partition(desk: Desk) -> None:
    desk.run(desk.send(FILE))
    snapshot = publish_company(desk.resources, desk.instance, desk.company)
    assert snapshot == current(desk.data_dir, desk.company)
    assert snapshot is not None
    assert snapshot.rows == {"skus": 2, "components": 0, "volumes": 2}
    [slug] = desk.instance.get_dynamic_partitions("companies")
    [record] = desk.instance.fetch_materializations(dg.AssetKey("portfolio_snapshot"), limit=1).records
    assert record.partition_key == slug
    assert record.asset_materialization.metadata["company_id"].value == str(desk.company)
    metadata = record.asset_materialization.metadata
    assert (metadata["skus_rows"].value, metadata["volumes_rows"].value) == (2, 2)
    assert metadata["audit_links"].value == snapshot.number == 3  # sent, written, completed


def test_the_overview_is_a_picture_in_the_same_run(desk: Desk) -> None:
    desk.run(desk.send(FILE))
    publish_company(desk.resources, desk.instance, desk.company)
    [record] = desk.instance.fetch_materializations(dg.AssetKey("portfolio_overview"), limit=1).records
    metadata = record.asset_materialization.metadata
    assert metadata["skus"].value == 2
    assert metadata["grade_not_assessed"].value == 2
    assert metadata["grades_picture"].value.startswith("![SKUs by grade](data:image/svg+xml;base64,")


def test_a_stopping_worker_leaves_the_snapshot_before(desk: Desk) -> None:
    desk.run(desk.send(FILE))
    before = publish_company(desk.resources, desk.instance, desk.company)
    desk.stopping.set()
    assert publish_company(desk.resources, desk.instance, desk.company, raise_on_error=False) is None
    assert current(desk.data_dir, desk.company) == before
