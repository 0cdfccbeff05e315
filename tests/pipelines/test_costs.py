"""What an import costs that does not depend on the machine: statements, waits for Postgres, events of its run.

A test fails when one grows, and its number is lowered with each gain; what an addition costs is decided here.
"""

from dataclasses import replace
from uuid import UUID

from tests.contract.counting import counted
from tests.pipelines.conftest import Desk
from tests.pipelines.stocked import stock
from warehouse.operate.sessions import Pool

ROWS = 100
FILE = "sku_code;name;material;weight_grams\n" + "\n".join(f"A{row};Bottle;plastic;{row}" for row in range(1, ROWS + 1))


def test_an_import_of_100_rows_is_at_most_this_many_statements_waits_and_events(desk: Desk, tmp_path) -> None:
    assert desk.run(desk.send(FILE))  # partition and rule-sets are known from here on
    with counted(desk.database.app_url) as road, Pool(road.url, clock=desk.clock) as pool:
        over_road = replace(desk, resources=stock(pool, desk.clock, tmp_path, desk.readers))
        assert over_road.run(over_road.send(FILE.replace("Bottle", "Jar")))  # rule-sets are read over this road
        import_id = over_road.send(FILE.replace("Bottle", "Tin"))
        waits, runs = road.waits, []
        statements = road.counting(lambda: runs.append(over_road.launch(import_id)))
        waits = road.waits - waits
    [run] = runs
    assert run.success
    assert desk.poll(UUID(str(import_id)))["counts"]["updated"] == ROWS
    events = len(desk.instance.all_logs(run.run_id))
    assert (statements, waits <= 47, events) == (48, True, 36)
