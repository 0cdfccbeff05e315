"""Files of strangers through a whole run: the run does what the dry run reports, and a repeat changes nothing."""

import pytest

from tests.pipelines.conftest import Desk
from tests.pipelines.reading.senders import english, french, german
from tests.pipelines.reading.test_senders import Build


@pytest.mark.parametrize(
    "build", [french.component_sheet, german.dual_system_list, english.data_pool], ids=lambda build: build.__name__
)
def test_a_file_is_stored_as_its_dry_run_says(desk: Desk, build: Build) -> None:
    sent = build()
    reports = []
    for dry_run in (True, False, False):
        import_id = desk.send(sent.data, dry_run=dry_run, filename="sent.xlsx")
        assert desk.run(import_id)
        reports.append(desk.poll(import_id))
    told = [(report["errors"], report["counts"]["created"], report["counts"]["unchanged"]) for report in reports]
    everything = len(sent.skus)
    assert told == [([], everything, 0), ([], everything, 0), ([], 0, everything)]
    stored = desk.rows("SELECT sku_code FROM skus WHERE company_id = %s")
    assert {code for (code,) in stored} == set(sent.skus)
