"""The official clients before a service that fails: what may be sent again is, under one key, and happens once."""

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZipFile

import httpx2
import pytest

from tests.journeys import built_clients
from tests.journeys.failing_proxy import LOSES, before
from tests.waiting import PATIENCE_SECONDS
from tools import build_clients
from tools.service import Service, running

PROGRAMS = Path(__file__).with_name("clients")


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running() as started:
        yield started


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_a_write_whose_answers_fail_happens_once(service: Service, tmp_path: Path, language: str):
    exports = len(_get(service, "exports").json()["data"])
    with before(service.port) as proxy:
        proxy.faults = [429, 503, LOSES, None, LOSES, 500, None, 429, LOSES]
        variables = {"PCDS_URL": proxy.url, "PCDS_KEY": service.key}
        said = json.loads(_run(tmp_path, language, variables))
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


def test_loops_of_the_python_client_end_where_the_lists_do(service: Service, tmp_path: Path):
    built_clients.python(tmp_path)
    variables = {"PCDS_URL": service.address, "PCDS_KEY": service.key}
    said = json.loads(built_clients.run_python(tmp_path, PROGRAMS / "loop.py", variables))
    assert said == {
        "last": "completed",
        "pages": [2, 2, 1],
        "by_place": [2, 2, 1],
        "created": 5,
        "refusal": [404, "not_found"],
        "again": ["completed", [2, 2, 1]],
    }


def test_the_packages_that_are_served_are_what_is_built(tmp_path: Path):
    """The other tests take those that are served: a build costs more than all that they do."""
    built = build_clients.python_wheel(tmp_path)
    assert differences(built, unzipped) == []
    built = build_clients.npm_package(tmp_path, built_clients.modules())
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


def test_what_is_written_by_hand_holds_strict_types(tmp_path: Path):
    """It cannot be checked in its place, where the generated half is not."""
    built_clients.python(tmp_path)
    names = [path.name for path in (build_clients.WRITTEN / "python" / "pcds_client").glob("*.py")]
    assert names
    package = tmp_path / "installed" / "pcds_client"
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


def _run(place: Path, language: str, variables: dict[str, str]) -> str:
    if language == "python":
        built_clients.python(place)
        return built_clients.run_python(place, PROGRAMS / "write.py", variables)
    built_clients.typescript(place)
    shutil.copy(PROGRAMS / "write.ts", place)
    built_clients.compile_typescript(place, Path("write.ts"))
    return built_clients.run_typescript(place, "write", variables)


def _get(service: Service, path: str) -> httpx2.Response:
    answer = httpx2.get(
        f"{service.address}/api/v1/{path}", headers={"X-API-Key": service.key}, timeout=PATIENCE_SECONDS
    )
    assert answer.status_code == 200, answer.text
    return answer
