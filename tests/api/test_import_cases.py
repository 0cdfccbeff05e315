"""Cases of whole imports at the front door: the edge of 50 000 rows, a double click, a full plan."""

from concurrent.futures import ThreadPoolExecutor

from pipelines.reading.sheet import MOST_ROWS

CSV = b"sku_code;name\nC-1;Bottle\nC-2;Tray\n"


def _sent(caller, data, **more):
    return caller.request("POST", "/imports?filename=p.csv" + more.pop("query", ""), content=data, **more)


def test_a_row_more_than_fifty_thousand_is_refused_before_the_202(caller):
    rows = b"".join(b"S%d;n\n" % at for at in range(MOST_ROWS))
    assert _sent(caller, b"sku_code;name\n" + rows, query="&dry_run=1").json()["rows"] == MOST_ROWS
    refused = _sent(caller, b"sku_code;name\n" + rows + b"S;n\n")
    assert (refused.status_code, refused.json()["details"][0]["code"]) == (400, "too_many_rows")


def test_a_double_click_is_one_import(caller, pool):
    with ThreadPoolExecutor(2) as threads:
        clicks = [threads.submit(_sent, caller, CSV, headers={"Idempotency-Key": "click"}) for _ in range(2)]
        answers = [click.result() for click in clicks]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].content == answers[1].content
    with pool.company(caller.company) as conn:
        assert conn.execute("SELECT count(*) FROM imports").fetchone() == (1,)


def test_a_full_plan_takes_what_it_holds_already(join):
    caller = join(plan="starter")
    held = [{"sku_code": f"H-{at}", "name": "n"} for at in range(100)]
    assert caller.post("/skus/batch", {"skus": held}).json()["summary"]["created"] == 100
    again = b"sku_code;name\n" + b"".join(b"H-%d;again\n" % at for at in range(100))
    assert _sent(caller, again).status_code == 202
    assert _sent(caller, again + b"NEW;n\n").status_code == 403
    assert _sent(caller, again + b"NEW;n\n", query="&dry_run=1").status_code == 202
