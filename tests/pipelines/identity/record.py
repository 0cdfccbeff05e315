"""Writes `graphs.json`: the graphs, with their ids, that a release stores of the files of this folder.

`graphs.json` was written by the release before ids were matched by what a part is (commit c32f78af), so that a test
can import the same files over it. Writing it anew with a later release would make that test say nothing. To see how
it was made, copy this folder into a checkout of that commit and run

    python -m pytest tests/pipelines/identity/record.py
"""

import json
from pathlib import Path

from tests.pipelines.conftest import Desk
from tests.pipelines.identity.files import FILES

GRAPHS = Path(__file__).with_name("graphs.json")
PORTFOLIO = Path(__file__).parents[3] / "examples" / "portfolio.xlsx"
STORED = 'SELECT sku_code, components::text FROM skus WHERE company_id = %s ORDER BY sku_code COLLATE "C"'


def test_record(desk: Desk) -> None:
    for filename, first, again in (*FILES.values(), (PORTFOLIO.name, PORTFOLIO.read_bytes(), PORTFOLIO.read_bytes())):
        for data in (first, again):
            import_id = desk.send(data, filename=filename)
            assert desk.finish(import_id)
            ended = desk.poll(import_id)
            print(filename, ended["counts"], ended["source"]["layout"], ended["errors"][:3])
    graphs = {code: json.loads(graph) for code, graph in desk.rows(STORED) if graph}
    GRAPHS.write_text(json.dumps(graphs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
