"""The official clients at /reference/clients: served to all, as the build's reference names them."""

import hashlib
import io
import re
import tarfile
import zipfile

import pytest
from starlette.testclient import TestClient

from api.app import INTERFACE_VERSION, build_app

WHEEL = f"pcds_client-{INTERFACE_VERSION}-py3-none-any.whl"
PACKAGE = f"pcds-client-{INTERFACE_VERSION}.tgz"
TYPES = {WHEEL: "application/zip", PACKAGE: "application/gzip"}
CLIENT = TestClient(build_app(), base_url="http://127.0.0.1")


@pytest.mark.parametrize("name", TYPES)
def test_a_package_is_served_without_a_key(name: str) -> None:
    path = f"/reference/clients/{name}"
    whole = CLIENT.get(path)
    assert (whole.status_code, whole.headers["Content-Type"]) == (200, TYPES[name])
    assert whole.headers["ETag"] == f'"{hashlib.sha256(whole.content).hexdigest()}"'
    assert name in whole.headers["Content-Disposition"]
    head = CLIENT.head(path)
    assert (head.status_code, head.content, head.headers["ETag"]) == (200, b"", whole.headers["ETag"])
    assert head.headers["Content-Length"] == str(len(whole.content))
    current = CLIENT.get(path, headers={"If-None-Match": whole.headers["ETag"]})
    assert (current.status_code, current.content) == (304, b"")


def test_both_packages_have_the_interface_version() -> None:
    wheel = zipfile.ZipFile(io.BytesIO(CLIENT.get(f"/reference/clients/{WHEEL}").content))
    assert wheel.testzip() is None
    metadata = wheel.read(f"pcds_client-{INTERFACE_VERSION}.dist-info/METADATA").decode()
    assert f"\nVersion: {INTERFACE_VERSION}\n" in metadata
    with tarfile.open(fileobj=io.BytesIO(CLIENT.get(f"/reference/clients/{PACKAGE}").content)) as package:
        described = package.extractfile("package/package.json")
        assert described is not None
        assert f'"version": "{INTERFACE_VERSION}"' in described.read().decode()


def test_what_a_program_does_not_set_is_not_sent() -> None:
    """Parameters and members of bodies alike: what a document gives a default is the service's to fill in."""
    wheel = zipfile.ZipFile(io.BytesIO(CLIENT.get(f"/reference/clients/{WHEEL}").content))
    texts = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith(".py")]
    assert sum(text.count("| Unset = UNSET") for text in texts) > 1_000
    assert not [found[0] for text in texts for found in re.finditer(r"\w+: [^\n]*\| Unset = (?!UNSET)\S+", text)]


def test_the_reference_links_to_both() -> None:
    links = re.findall(r'"(/reference/clients/[^"]+)"', CLIENT.get("/reference").text)
    assert sorted(links) == sorted(f"/reference/clients/{name}" for name in TYPES)


@pytest.mark.parametrize("name", ["built_from.sha256", "other.whl", "..%2Froutes.py", "pcds-client-0.0.1.tgz"])
def test_nothing_else_is_served(name: str) -> None:
    assert CLIENT.get(f"/reference/clients/{name}").status_code == 404
