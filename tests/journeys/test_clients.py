"""The official clients before a service that fails: what may be sent again is, under one key, and happens once.

The packages are those that the service serves, and those that it served at the last release. Beside them stand the
clients that three generators make of the document.
"""

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx2
import pytest

from api.app import build_app
from tests.journeys import built_clients
from tests.journeys.failing_proxy import HALF, LOSES, before
from tests.waiting import PATIENCE_SECONDS
from tools import build_clients, generated_clients, record_release
from tools.service import Service, running

PROGRAMS = Path(__file__).with_name("clients")
LANGUAGES = ("python", "typescript")
LOOPS = {"released": "load", "served": "follow"}
"""The program with a client of each document: the last release has no feed and no webhooks."""


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PCDS_WEBHOOKS_TO_LOOPBACK", "true")
        with running() as started:
            yield started


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the client that the service serves."""
    return built_clients.python(tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="module")
def typescript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with all programs compiled."""
    place = built_clients.typescript(tmp_path_factory.mktemp("typescript"))
    return _compiled(place, "write", "follow", "load")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_write_whose_answers_fail_happens_once(
    service: Service, language: str, request: pytest.FixtureRequest
) -> None:
    place = request.getfixturevalue(language)
    exports = len(_get(service, "exports").json()["data"])
    with before(service.port) as proxy:
        proxy.faults = iter([429, 503, LOSES, None, LOSES, 500, None, 429, LOSES])
        said = _run(place, language, "write", {"PCDS_URL": proxy.url, "PCDS_KEY": service.key})
    assert said == {"statuses": [201, 202, 429], "lost": True}
    paths = [each.path.partition("?")[0].rpartition("/")[2] for each in proxy.seen]
    assert paths == ["skus"] * 4 + ["exports"] * 3 + ["skus"] * 2
    keys = [each.key for each in proxy.seen]
    assert None not in keys
    assert [len(set(part)) for part in (keys[:4], keys[4:7], keys[7:])] == [1, 1, 2]
    assert len(set(keys)) == 4
    [sku] = _get(service, f"skus?q=RETRIED-{language}").json()["data"]
    assert _get(service, f"skus/{sku['id']}").headers["ETag"] == '"1"'  # its first version
    assert len(_get(service, "exports").json()["data"]) == exports + 1


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("document", LOOPS)
def test_the_loops_of_an_erp_lose_nothing_where_half_of_it_fails(
    service: Service, document: str, language: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Half of the requests fail, and half of the messages to the webhook's receiver."""
    program, prefix = LOOPS[document], f"{document}-{language}".upper()
    place = request.getfixturevalue(language) if document == "served" else _released(tmp_path, language)
    with before(service.port) as proxy:
        proxy.faults, proxy.wait = cycle(HALF), 0
        variables = {"PCDS_KEY": service.key, "LOOP_PREFIX": prefix, "LOOP_PATIENCE": str(PATIENCE_SECONDS)}
        said = _run(place, language, program, {**variables, "PCDS_URL": proxy.url})
    failed = [each for each in proxy.seen if each.fault is not None]
    assert len(failed) >= len(proxy.seen) // 2 > 5
    assert {each.method for each in failed} >= {"GET", "POST"}
    synced = {f"{prefix}-{number}": "Crate" if number > 3 else "Box" for number in range(6)}
    assert said["report"] == ["completed", 5]
    assert (said["synced"], said["faults"]) == (["updated", "created", "rejected"], ["weight_grams"])
    assert said["names"] == synced
    changed: dict[str, Any] = {}
    if document == "served":
        changed = dict.fromkeys((f"{prefix}-0", f"{prefix}-1"), "Tray")
        assert said["followed"] == synced
        assert said["rung"] == sorted(changed)
        assert said["attempts"] == [4, 2], "each message came twice: the receiver refused it once"
        assert said["listed"] == sorted(synced)
        assert said["copied"] == said["at_last"] == synced | changed
    rows = _get(service, f"skus?q={prefix}&include=components").json()["data"]
    versions = {row["sku_code"]: _get(service, f"skus/{row['id']}").json()["data"]["version"] for row in rows}
    assert versions == {code: 2 if code in {*changed, f"{prefix}-4"} else 1 for code in synced}, "each write once"


def test_loops_of_the_python_client_end_where_the_lists_do(service: Service, python: Path):
    assert _run(python, "python", "loop", {"PCDS_URL": service.address, "PCDS_KEY": service.key}) == {
        "last": "completed",
        "pages": [2, 2, 1],
        "by_place": [2, 2, 1],
        "created": 5,
        "refusal": [404, "not_found"],
        "again": ["completed", [2, 2, 1]],
    }


def test_clients_of_three_generators_compile_and_do_their_work(service: Service, tmp_path: Path):
    """`make api-clients` does the same with a service of its own."""
    built_clients.modules()
    generated_clients.check(service, tmp_path)


def test_the_packages_that_are_served_are_what_is_built(tmp_path: Path):
    """The other tests take those that are served: a build costs more than all that they do."""
    document = build_app().openapi()
    built = build_clients.python_wheel(tmp_path, document)
    assert differences(built, unzipped) == []
    built = build_clients.npm_package(tmp_path, document, built_clients.modules())
    assert differences(built, unpacked) == []


def differences(built: Path, held: Callable[[Path], dict[str, bytes]]) -> list[str]:
    """The files of a package that are not those of the one that is served: run `make clients`."""
    new, served = held(built), held(build_clients.BUILT / built.name)
    return sorted(name for name in new.keys() | served.keys() if new.get(name) != served.get(name))


def unzipped(wheel: Path) -> dict[str, bytes]:
    with ZipFile(wheel) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def unpacked(package: Path) -> dict[str, bytes]:
    with tarfile.open(package) as packed:
        files = {member.name: packed.extractfile(member) for member in packed}
        return {name: file.read() for name, file in files.items() if file}


def test_what_is_written_by_hand_holds_strict_types(python: Path, tmp_path: Path):
    """It cannot be checked in its place, where the generated half is not."""
    names = [path.name for path in (build_clients.WRITTEN / "python" / "pcds_client").glob("*.py")]
    assert names
    package = python / "installed" / "pcds_client"
    (package / "py.typed").unlink(missing_ok=True)
    checked = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    done = subprocess.run(
        [*checked, *(str(package / name) for name in names)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def _released(place: Path, language: str) -> Path:
    if language == "python":
        return built_clients.python(place, record_release.CLIENTS)
    return _compiled(built_clients.typescript(place, record_release.CLIENTS), "load")


def _compiled(place: Path, *programs: str) -> Path:
    for name in programs:
        shutil.copy(PROGRAMS / f"{name}.ts", place)
    built_clients.compile_typescript(place, *(Path(f"{name}.ts") for name in programs))
    return place


def _run(place: Path, language: str, program: str, variables: dict[str, str]) -> Any:
    if language == "python":
        return json.loads(built_clients.run_python(place, PROGRAMS / f"{program}.py", variables))
    return json.loads(built_clients.run_typescript(place, program, variables))


def _get(service: Service, path: str) -> httpx2.Response:
    answer = httpx2.get(
        f"{service.address}/api/v1/{path}", headers={"X-API-Key": service.key}, timeout=PATIENCE_SECONDS
    )
    assert answer.status_code == 200, answer.text
    return answer
