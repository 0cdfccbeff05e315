"""What an import costs that does not depend on the machine: statements, waits for Postgres, events of its run, their
size in KiB, of which nine tenths are what its assets show.

A test fails when one grows, and its number is lowered with each gain; what an addition costs is decided here. The
fewest of a few count: on a busy machine a run also sends heartbeats. The look at the active rule-set, which a process
takes once in some seconds whatever it runs, is taken before.
"""

from dataclasses import replace

import dagster as dg

from tests.contract.counting import Road, counted
from tests.pipelines.conftest import Desk
from tests.pipelines.stocked import stock
from warehouse import rules
from warehouse.operate.sessions import Pool

ROWS = 100
FILE = "sku_code;name;material;weight_grams\n" + "\n".join(f"A{row};Bottle;plastic;{row}" for row in range(1, ROWS + 1))


def test_an_import_of_100_rows_is_at_most_this_many_statements_waits_and_events(
    desk: Desk, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(rules, "FRESH_SECONDS", 600)
    assert desk.run(desk.send(FILE))  # partition and rule-sets are known from here on
    with counted(desk.database.app_url) as road, Pool(road.url, clock=desk.clock) as pool:
        over_road = replace(desk, resources=stock(pool, desk.clock, tmp_path, desk.readers))
        assert over_road.run(over_road.send(FILE.replace("Bottle", "Jar")))  # rule-sets are read over this road
        costs = [cost(over_road, road, name) for name in ("Tin", "Box", "Tub")]
        again = [cost(over_road, road, "Tub", "unchanged") for _ in range(3)]
    statements, waits, events, kib = (min(counts) for counts in zip(*costs, strict=True))
    assert (statements <= 46, waits <= 46, events <= 36, kib <= 91) == (True, True, True, True), costs
    statements, waits, events, _ = (min(counts) for counts in zip(*again, strict=True))
    assert (statements <= 44, waits <= 44, events <= 36) == (True, True, True), again  # no row is compared twice


def cost(desk: Desk, road: Road, name: str, outcome: str = "updated") -> tuple[int, int, int, int]:
    """Statements, waits, events and their KiB of the run that gives every SKU this name, or has it already."""
    import_id, waits, runs = desk.send(FILE.replace("Bottle", name)), road.waits, []
    statements = road.counting(lambda: runs.append(desk.launch(import_id)))
    waits, [run] = road.waits - waits, runs
    assert run.success
    assert desk.poll(import_id)["counts"][outcome] == ROWS
    events = desk.instance.all_logs(run.run_id)
    return statements, waits, len(events), sum(len(dg.serialize_value(event)) for event in events) // 1024
