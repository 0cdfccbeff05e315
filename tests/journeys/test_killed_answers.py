"""No answer of a supplier is lost: the API is killed at every table that saving, sending and accepting write.

A lock holds the API's statement at that table until the process is dead. What was answered before is there then, what
was under way is not, not even half; sent again, it is there once.
"""

import io
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from uuid import UUID

import httpx2
import psycopg
import pytest
from xlsxwriter import Workbook

from pipelines.readers.tasks import cells
from tests.api.forms import filled
from tests.api.people import PASSWORD, added, hidden
from tests.journeys.place import Place
from tests.services.making import PDF
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool

CODES = ("KILL-1", "KILL-2")
SUPPLIER = "Dosen AG"
SAVING = ("supplier_rows",)
ATTACHING = ("review_files",)
SENDING = ("supplier_enquiries", "supplier_requests", "review_entries", "audit_entries")
ACCEPTING = (
    *("supplier_requests", "review_entries", "skus", "sku_versions", "supplier_articles", "technical_files"),
    "audit_entries",
)
SECOND = """
SELECT FROM supplier_requests WHERE id = (SELECT request_id FROM review_entries ORDER BY filed_at DESC, id DESC LIMIT 1)
FOR UPDATE"""
"""Holds the second answer when the first is accepted."""
Request = Callable[[], httpx2.Response]
STATE = """
SELECT json_build_object(
    'rows', (SELECT json_agg(json_build_array(number, answer, is_confirmed, article) ORDER BY number)
        FROM supplier_rows),
    'files', (SELECT count(*) FROM review_files), 'kept files', (SELECT count(*) FROM technical_files),
    'requests', (SELECT json_agg(state ORDER BY id) FROM supplier_requests),
    'entries', (SELECT json_agg(json_build_array(request_id, state) ORDER BY id) FROM review_entries),
    'skus', (SELECT json_agg(json_build_array(sku_code, version, components) ORDER BY sku_code) FROM skus),
    'versions', (SELECT count(*) FROM sku_versions),
    'articles', (SELECT json_agg(article ORDER BY component_id) FROM supplier_articles),
    'ledger', (SELECT count(*) FROM audit_entries WHERE action LIKE 'supplier%' OR action LIKE 'sku%'
        OR action LIKE 'technical_file%'))"""


class Killed:
    """A supplier and a reviewer at the pages of an API that is killed."""

    def __init__(self, place: Place, pool: Pool) -> None:
        self.place = place
        supplier_id = place.call("POST", "/api/v1/suppliers", json={"name": SUPPLIER})["data"]["id"]  # type: ignore[index]
        part = {"component_type": "body", "material_family": "metal", "supplier_id": supplier_id}
        for at, code in enumerate(CODES):
            sku = {"sku_code": code, "name": code, "components": [{**part, "weight_g": 10 + at}]}
            place.answered("POST", "/api/v1/skus", json=sku)
        asked = {"supplier_name": SUPPLIER, "sku_codes": list(CODES)}
        url = str(place.call("POST", "/api/v1/supplier-enquiries", json=asked)["url"])
        self.link = url[url.index("/supplier-enquiries/") :]
        self.http = httpx2.Client(
            base_url=f"http://127.0.0.1:{place.ports['api']}",
            headers={"Sec-Fetch-Site": "same-origin"},
            timeout=PATIENCE_SECONDS,
        )
        person = added(pool, UUID(str(place.company)), "approver")
        form = hidden(self.http.get("/sign-in").text) | {"email": person.email, "password": PASSWORD}
        assert self.http.post("/sign-in", data=form).status_code == 303

    def state(self) -> dict[str, Any]:
        [state] = self.place.one(STATE)
        return dict(state)  # type: ignore[call-overload]

    def rows(self, do: str, **fields: str) -> Request:
        form: dict[str, Any] = dict(filled(self.http.get(self.link).text, "answer")) | fields
        return partial(self.http.post, self.link, data={**form, "do": do, "consent": "yes", "row": ["1", "2"]})

    def save(self) -> Request:
        return self.rows("save", **{"1.weight_g": "12.5", "1.article": "A-1"})

    def send(self) -> Request:
        return self.rows("send")

    def upload(self) -> Request:
        read, _ = cells(io.BytesIO(self.http.get(f"{self.link}/workbook").content))
        titles, *lines = [list(line) for line in read["cells"]]
        lines[1][titles.index("Weight (g)")] = "13.5"
        for line in lines:
            line[titles.index("Confirmed")] = "yes"
        data = io.BytesIO()
        with Workbook(data, {"in_memory": True, "strings_to_numbers": True}) as book:
            sheet = book.add_worksheet()
            for at, line in enumerate([titles, *lines]):
                sheet.write_row(at, 0, line)
        return partial(self.http.post, f"{self.link}/workbook", files={"file": ("packaging.xlsx", data.getvalue())})

    def attach(self) -> Request:
        files = {"file": ("declaration.pdf", PDF, "application/pdf")}
        return partial(self.http.post, f"{self.link}/files", data={"type": "food_contact_declaration"}, files=files)

    def accept(self) -> Request:
        page = self.http.get("/review/answers").text
        decisions: dict[str, str] = {}
        for key in re.findall(r'name="choice\.(\w+)"', page):
            decisions |= {f"choice.{key}": "take", f"reason.{key}": "Weighed"}
        return partial(self.http.post, "/review/answers", data=hidden(page) | decisions)

    def die(self, lock: str, request: Request) -> None:
        """Kill the API while a statement of the request waits for a lock, and start it again."""

        def try_it() -> None:
            with suppress(httpx2.TransportError):
                request()

        thread = threading.Thread(target=try_it)
        with self.owner() as owner:
            owner.execute(lock)
            thread.start()
            wait_until(lambda: self.place.one("SELECT count(*) FROM pg_locks WHERE NOT granted")[0])
            self.place.end("api")
        thread.join()
        self.place.start_and_wait("api")
        wait_until(lambda: not self.place.one("SELECT count(*) FROM pg_locks WHERE NOT granted")[0])

    @contextmanager
    def owner(self) -> Iterator[psycopg.Connection[Any]]:
        """The database's owner; its transaction is taken back."""
        with psycopg.connect(Database.from_settings(self.place.settings).owner_url) as owner:
            yield owner
            owner.rollback()

    def forget_uses(self) -> None:
        """Let the minute go by in which a link may be used ten times."""
        with psycopg.connect(Database.from_settings(self.place.settings).owner_url) as owner:
            owner.execute("DELETE FROM request_slots")


@pytest.fixture
def killed(place: Place) -> Iterator[Killed]:
    place.start_and_wait("api")
    with Pool(Database.from_settings(place.settings).app_url) as pool:
        killed = Killed(place, pool)
        yield killed
        killed.http.close()


def test_a_kill_at_any_step_loses_no_answer_and_leaves_none_half(killed: Killed) -> None:
    steps: tuple[tuple[Callable[[], Request], tuple[str, ...], set[str]], ...] = (
        (killed.save, SAVING, {"rows"}),
        (killed.upload, SAVING, {"rows"}),
        (killed.attach, ATTACHING, {"files"}),
        (killed.send, SENDING, {"requests", "entries", "ledger"}),
        (killed.accept, ACCEPTING, {"requests", "entries", "skus", "versions", "articles", "kept files", "ledger"}),
    )
    for prepare, tables, changes in steps:
        before = killed.state()
        for table in tables:
            killed.forget_uses()
            killed.die(f"LOCK TABLE {table} IN EXCLUSIVE MODE", prepare())
            assert killed.state() == before, f"killed at {table}"
        if prepare == killed.accept:
            killed.die(SECOND, prepare())
            assert [state for _, state in killed.state()["entries"]] == ["accepted", "open"], "what was accepted stays"
        killed.forget_uses()
        request = prepare()
        assert request().status_code == 303
        after = killed.state()
        assert {name for name in after if after[name] != before[name]} == changes
        request()  # as somebody does whose answer was lost on its way
        assert killed.state() == after
    assert [line[2][0]["weight_g"] for line in after["skus"]] == [12.5, 13.5]
    assert (after["articles"], after["kept files"]) == (["A-1"], 2)
    assert [state for _, state in after["entries"]] == ["accepted", "accepted"]
