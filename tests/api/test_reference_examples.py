"""The examples of the reference done as they are printed: each request, in each language, against the demo company."""

import html
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.reference import pages
from tests.api import sample_runs
from tests.openapi import document
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.record_examples import _PNG
from tools.service import Service, running


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running(demo=True) as started:
        yield started


LAST = (
    "delete_mapping",
    "delete_webhook",
    "post_undo",
    "post_withdraw_enquiry",
    "post_withdraw_request",
    "post_withdrawal",
)
"""What ends the record that others ask for."""


def printed(heading: str) -> dict[str, str]:
    """The request of each operation in a language, as the page shows it."""
    page = pages.render(document())[""]
    articles = re.findall(r'<article class="operation" aria-labelledby="(\w+)">(.*?)</article>', page, re.DOTALL)
    sample = re.compile(rf"<(h4|summary)>{heading}</\1>\s*<pre[^>]*><code>(.*?)</code>", re.DOTALL)
    return {name: html.unescape(sample.search(text)[2]) for name, text in articles}


@pytest.mark.parametrize(("heading", "language", "declared"), [
    ("Request", sample_runs.curl, ()),
    ("Request in Python", sample_runs.python, (r"\bFR\b", "ES")),
    ("Request in TypeScript", sample_runs.typescript, ('"csv"', '"json"')),
])  # fmt: skip
def test_each_succeeds_on_the_demo_company(
    service: Service, tmp_path: Path, heading: str, language: Callable, declared: tuple[str, ...]
):
    """`declared` makes the declaration another one: an equal first one is refused (decisions §13)."""
    (tmp_path / "photo.png").write_bytes(_PNG)
    (tmp_path / "jars.csv").write_text("sku_code,name\nJAR-25,Jam jar\n,Nameless\n", encoding="utf-8")
    samples = printed(heading)
    with language(tmp_path, samples) as send:
        done = _morning(service, send, declared, heading)
    assert done == samples.keys()


def _morning(service: Service, send: sample_runs.Sender, declared: tuple[str, ...], owner: str) -> set[str]:
    """Send every request, in an order in which each finds what it asks for; return the operations.

    One that nothing else waits for finds its record by the kind that its path names.
    """
    always = {"BASE": service.address, "KEY": service.key, "CLIENT_ID": service.client_id}
    done: set[str] = set()
    paths = {
        operation["operationId"]: path
        for path, methods in document()["paths"].items()
        for operation in methods.values()
    }

    def sent(name: str, *change: str, **more: str) -> Any:
        done.add(name)
        answer = send(name, always | more, partial(re.sub, *change) if change else str)
        assert not isinstance(answer, dict) or "correlationId" not in answer, (name, answer)
        return answer

    def made(name: str, *change: str, **more: str) -> Any:
        """The record that an operation makes, of whose kind the path of later ones is."""
        answer = sent(name, *change, **more)
        record = answer.get("data", answer) if isinstance(answer, dict) else {}
        if isinstance(record, dict) and record.get("id"):
            ids[paths[name].split("/")[-1]] = record["id"]
        return record

    ids = {"mappings": _kept_mapping(service)}
    sku = ids["marks"] = made("post_sku")["id"]
    asked = service.made("supplier-request", "create", "--company", service.company_id, "--sku", "WTR-50")
    sent("post_supplier_data", TOKEN=asked["token"], COMPONENT_ID=asked["component_ids"][0])
    imported = made("post_import", FILE="jars.csv")["id"]
    _finished(service, f"imports/{imported}")
    draft = made("post_draft", ID=sku)
    made_of_it = sent("post_issue", r"\d{4}-\d\d-\d\d", draft["drafted_at"][:10], ID=draft["id"])
    ids["docs"] = made_of_it["data"]["id"]
    sent("post_file", ID=sku, FILE="photo.png")
    sent("put_volumes", ID=sku)
    service.made("rollup", "--company", service.company_id)
    made("post_declaration", *declared)
    for name in ("post_archive", "list_archived", "post_return"):
        sent(name, ID=sku)
    made("post_supplier_enquiry")
    _finished(service, f"exports/{made('post_export')['id']}")
    webhook, cursor = made("post_webhook")["id"], sent("list_changes")["next_cursor"]
    sent("post_test", ID=webhook)
    sent("post_replay", r"""(["']after["']: )["'][\w-]+["']""", rf'\1"{cursor}"', ID=webhook)
    tester = service.made("key", "issue", "--company", service.company_id, "--test")
    sent("post_reset", KEY=tester["api_key"])
    for name in sorted(paths.keys() - done, key=lambda name: (name in LAST, "{id}" in paths[name], name)):
        # A name is free once: each language gives its own.
        change = (r""" 2(["'])""", rf" {owner}\1") if name.startswith("patch_") else ()
        made(name, *change, ID=ids.get(paths[name].removeprefix("/api/v1/").split("/")[0], ""))
    return done


def _kept_mapping(service: Service) -> str:
    """Keep a mapping under a name, which is done beside a file; return its id."""
    key = {"X-API-Key": service.key}
    with httpx2.Client(base_url=f"{service.address}/api/v1", headers=key, timeout=PATIENCE_SECONDS) as http:
        named = {"filename": "jars.csv", "mapping": '{"columns": {"name": "name"}}', "mapping_name": "Jars"}
        assert http.post("/imports", params=named, content=b"sku_code,name\nJAR-26,Jam jar\n").status_code == 202
        found: str = http.get("/mappings").json()["data"][0]["id"]
    return found


def _finished(service: Service, path: str) -> None:
    """Wait until an import or an export has ended."""

    with httpx2.Client(headers={"X-API-Key": service.key}, timeout=PATIENCE_SECONDS) as http:

        def is_finished() -> bool:
            answer = http.get(f"{service.address}/api/v1/{path}").json()
            return answer.get("data", answer)["status"] in ("completed", "failed")

        wait_until(is_finished)
