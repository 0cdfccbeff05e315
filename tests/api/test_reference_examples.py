"""The examples of the reference done as they are printed: each request, in one shell, against the demo company."""

import html
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from api.app import build_app
from api.reference import pages
from tests.waiting import wait_until
from tools.record_examples import _PNG
from tools.service import Service, running

FILES = {
    operation["operationId"]
    for methods in build_app().openapi()["paths"].values()
    for operation in methods.values()
    if "200" in operation["responses"] and "application/json" not in operation["responses"]["200"]["content"]
}
"""Operations that answer with a file."""


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running(demo=True) as started:
        yield started


def printed() -> dict[str, str]:
    """The request of each operation, as the page shows it."""
    page = pages.render(build_app().openapi())[""]
    articles = re.findall(r'<article class="operation" aria-labelledby="(\w+)">(.*?)</article>', page, re.DOTALL)
    return {
        name: html.unescape(re.search(r"<h4>Request</h4>\s*<pre[^>]*><code>(.*?)</code>", text, re.DOTALL)[1])
        for name, text in articles
    }


def test_each_succeeds_on_the_demo_company(service: Service, tmp_path: Path):
    (tmp_path / ".curlrc").write_text("silent\nshow-error\nfail-with-body\n", encoding="utf-8")
    (tmp_path / "photo.png").write_bytes(_PNG)
    (tmp_path / "jars.csv").write_text("sku_code,name\nJAR-25,Jam jar\n,Nameless\n", encoding="utf-8")
    variables = {"BASE": service.address, "KEY": service.key, "CLIENT_ID": service.client_id, "HOME": str(tmp_path)}
    requests = printed()

    def sent(name: str, **more: str) -> dict:
        done = subprocess.run(
            ["bash", "-c", requests.pop(name)],
            env=os.environ | variables | more,
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, (name, done.stdout, done.stderr)
        return {} if name in FILES else json.loads(done.stdout)

    sku = sent("post_sku")["data"]["id"]
    asked = service.made("supplier-request", "create", "--company", service.company_id, "--sku", "WTR-50")
    sent("post_supplier_data", TOKEN=asked["token"], COMPONENT_ID=asked["component_ids"][0])
    imported = sent("post_import", FILE="jars.csv")["id"]
    sent("get_import", ID=imported)
    _finished(service, imported)
    for name in ("post_repeat", "list_rejected", "get_rejected_file", "post_corrections", "post_undo"):
        sent(name, ID=imported)
    draft = sent("post_draft", ID=sku)["data"]
    sent("get_draft", ID=draft["id"])
    requests["post_issue"] = re.sub(r"\d{4}-\d\d-\d\d", draft["drafted_at"][:10], requests["post_issue"])
    doc = sent("post_issue", ID=draft["id"])["data"]["id"]
    for name in ("get_doc", "post_renewal", "post_withdrawal"):
        sent(name, ID=doc)
    assert "/docs/$ID/pdf" in requests.pop("get_doc_pdf")  # bytes, which are no JSON
    sent("post_file", ID=sku, FILE="photo.png")
    sent("put_volumes", ID=sku)
    service.made("rollup", "--company", service.company_id)
    declaration = sent("post_declaration")["data"]["id"]
    for name in ("get_declaration", "get_content"):
        sent(name, ID=declaration)
    for name in ("post_archive", "list_archived", "post_return"):
        sent(name, ID=sku)
    enquiry = sent("post_supplier_enquiry")["data"]["id"]
    for name in ("get_supplier_enquiry", "post_remind_supplier", "post_withdraw_enquiry"):
        sent(name, ID=enquiry)
    sent("get_export", ID=sent("post_export")["data"]["id"])
    assert "/exports/$ID/file" in requests.pop("get_export_file")  # bytes, and only once the export is completed
    webhook = sent("post_webhook")["data"]["id"]
    cursor = sent("list_changes")["next_cursor"]
    requests["post_replay"] = re.sub(r'"after": ?"[\w-]+"', f'"after": "{cursor}"', requests["post_replay"])
    of_webhook = ("get_webhook", "list_deliveries", "post_roll_secret", "post_replay", "post_test", "patch_webhook")
    for name in (*of_webhook, "delete_webhook"):
        sent(name, ID=webhook)
    tester = service.made("key", "issue", "--company", service.company_id, "--test")
    sent("post_reset", KEY=tester["api_key"])
    for name in list(requests):
        sent(name, ID=sku)
    assert not requests


def _finished(service: Service, import_id: str) -> None:
    """Wait until the import has its report."""
    headers = {"X-API-Key": service.key}
    address = f"{service.address}/api/v1/imports/{import_id}"
    wait_until(lambda: httpx2.get(address, headers=headers).json()["status"] in ("completed", "failed"))
