"""The image, the compose file and the units: as far as a machine without a container engine can tell, they would run.

Not tried here: building the image, and the engine's own merging of the compose file. The file's own commands are
started by tests/journeys/test_compose.py.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from api import cli
from api.operate import start
from warehouse.operate.settings import Settings

PROGRAMS = start.programs(Settings.load())

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "pcds"}
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def variables(path: Path) -> set[str]:
    return set(re.findall(r"^([A-Z_]+)=", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_the_compose_file_has_what_a_deployment_needs() -> None:
    started = [service["command"][-1] for service in OURS.values() if "api.operate.start" in service["command"]]
    assert (started.count("api"), started.count("worker"), started.count("dagster-daemon")) == (2, 2, 1)
    assert {*started} == {*PROGRAMS} - {"celery-worker"}
    assert "postgres" in SERVICES


@pytest.mark.parametrize("name", OURS)
def test_a_container_starts_a_program_of_ours_without_rights(name: str) -> None:
    service = OURS[name]
    match service["command"]:
        case ["python", "-m", "api.operate.start", program]:
            assert program in PROGRAMS
            assert name.startswith(program)
        case ["pcds", command]:
            assert cli.build_program([command])
        case other:
            assert other == ["python", "-m", "pipelines.commands", "catalogue-refresh", "--if-needed"]
    assert (service["user"], service["read_only"], service["cap_drop"]) == ("10001:10001", True, ["ALL"])
    assert service["tmpfs"] == ["/tmp"]
    mounted = [volume.partition(":") for volume in service["volumes"]]
    assert {volume for volume, *_ in mounted} <= {*COMPOSE["volumes"]}
    assert [place for _, _, place in mounted].count("/data") == 1
    for other in service["depends_on"]:
        assert other in SERVICES
    for secret in service.get("secrets", ()):
        assert secret["source"] in COMPOSE["secrets"]


def test_ports_are_open_on_loopback_and_no_network_is_trusted_unless_asked() -> None:
    """Whoever is trusted says who calls: no file that is copied as it is names more than the machine's own address."""
    published = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert published
    assert [port for port in published if not re.fullmatch(r"\$\{PUBLISH_ADDRESS:-127\.0\.0\.1\}:\d+:\d+", port)] == []
    trusted = {
        path.name: named
        for path in DEPLOY.rglob("*")
        if path.is_file()
        for named in re.findall(r"^\s*PCDS_TRUSTED_PROXIES\s*[=:]\s*(\S+)", path.read_text("utf-8"), re.MULTILINE)
    }
    assert {name: each for name, each in trusted.items() if each != "127.0.0.1"} == {}


def test_whoever_needs_the_code_server_has_it_in_the_same_data_directory() -> None:
    """And the API the webserver on its loopback address: they share a network."""
    of_data = {name: service["volumes"][0] for name, service in OURS.items()}
    codes = {of_data[name] for name in OURS if name.startswith("dagster-code")}
    for name, service in OURS.items():
        program = PROGRAMS.get(service["command"][-1])
        if program is not None and program.after:
            assert of_data[name] in codes
    apis = {name for name in OURS if name.startswith("api-")}
    assert {service["network_mode"] for service in OURS.values() if "network_mode" in service} == {
        f"service:{name}" for name in apis
    }


def test_every_variable_is_a_setting() -> None:
    known = {*Settings.model_construct(**dict.fromkeys(Settings.model_fields, "x")).environment()}
    assert variables(DEPLOY / "compose.env.example") <= known
    assert variables(DEPLOY / "systemd" / "pcds.env.example") <= known
    image = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"(PCDS_\w+)=", image)) <= known


def test_the_image_has_every_package_and_runs_as_nobody() -> None:
    image = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"bench", "tools", "tests"}
    copied = {words[0] for words in re.findall(r"^COPY (?!--)(.+) \S+$", image, re.MULTILINE)}
    sources = {each for line in re.findall(r"^COPY (?!--)(.+)$", image, re.MULTILINE) for each in line.split()[:-1]}
    assert copied
    assert packages <= sources
    for source in sources:
        assert (ROOT / source).exists(), source
    ignored = (DEPLOY / "Containerfile.containerignore").read_text(encoding="utf-8").splitlines()
    assert {line.removeprefix("!") for line in ignored if line.startswith("!")} == sources
    assert (DEPLOY / "Containerfile.dockerignore").read_text(encoding="utf-8").splitlines() == ignored
    assert re.findall(r"^USER (.+)$", image, re.MULTILINE) == ["10001:10001"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_program_of_ours(unit: Path) -> None:
    text = unit.read_text(encoding="utf-8")
    [command] = re.findall(r"^ExecStart=/opt/pcds/\.venv/bin/(.+)$", text, re.MULTILINE)
    match command.split():
        case ["pcds", name, *_]:
            assert name in cli.COMMANDS
        case ["python", "-m", "api.operate.start", name]:
            assert name == "%i" or name in PROGRAMS
        case other:
            pytest.fail(f"{other} is no program of ours")
    [seconds] = re.findall(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)
    assert int(seconds) >= 40, "docs/operations.md, How runs start"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_takes_the_unit(unit: Path, tmp_path: Path) -> None:
    copy = tmp_path / unit.name.replace("@", "@x")
    text = unit.read_text(encoding="utf-8").replace("/opt/pcds/.venv/bin/pcds", "/bin/true")
    copy.write_text(text.replace("/opt/pcds/.venv/bin/python", "/bin/true"), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if copy.name in line]
    assert said == [], done.stderr
