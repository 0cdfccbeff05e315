"""The examples of the reference done as they are printed: each request, in one shell, against the demo company."""

import html
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.app import build_app
from api.reference import pages
from tools.record_examples import _PNG
from tools.service import Service, running


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
    (tmp_path / "jars.csv").write_text("sku_code,name\nJAR-25,Jam jar\n", encoding="utf-8")
    variables = {"BASE": service.address, "KEY": service.key, "CLIENT_ID": service.client_id, "HOME": str(tmp_path)}
    requests = printed()

    def sent(name: str, **more: str) -> dict:
        done = subprocess.run(
            ["bash", "-c", requests.pop(name)],
            env=os.environ | variables | more,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (name, done.stdout, done.stderr)
        return json.loads(done.stdout)

    sku = sent("post_sku")["data"]["id"]
    asked = service.made("supplier-request", "create", "--company", service.company_id, "--sku", "WTR-50")
    sent("post_supplier_data", TOKEN=asked["token"], COMPONENT_ID=asked["component_ids"][0])
    imported = sent("post_import", FILE="jars.csv")["id"]
    sent("get_import", ID=imported)
    sent("post_repeat", ID=imported)
    sent("post_file", ID=sku, FILE="photo.png")
    for name in list(requests):
        sent(name, ID=sku)
    assert not requests
