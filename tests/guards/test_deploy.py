"""What lies in deploy/: as far as a machine without a cluster can tell, it names only what there is."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from api import cli, programs
from api.app import build_app
from tests.api.test_isolation_of_routes import named
from warehouse.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml")
NAMED = {
    ("ConfigMap", "pcds"),
    ("Service", "pcds"),
    ("PersistentVolumeClaim", "pcds-shared"),
    ("Job", "pcds-migrate"),
    ("Deployment", "pcds-api"),
    ("Deployment", "pcds-daemon"),
    ("Deployment", "pcds-worker"),
}
SECRETS = {"pcds", "pcds-connector"}
"""Made by whoever deploys, with what config.yaml says."""
ELSEWHERE = {"AWS_REGION", "AWS_ENDPOINT_URL"}
"""Variables of the object store's library."""


def documents() -> list[dict[str, Any]]:
    return [document for file in FILES for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


def templates() -> dict[str, dict[str, Any]]:
    """The pods' specifications by what makes them."""
    made = [document for document in documents() if document["kind"] in ("Deployment", "Job")]
    return {document["metadata"]["name"]: document["spec"]["template"]["spec"] for document in made}


def containers() -> Iterator[dict[str, Any]]:
    for pod in templates().values():
        yield from chain(pod["containers"], pod.get("initContainers", ()))


def settings_variables() -> set[str]:
    filled = dict.fromkeys(Settings.model_fields, "x")
    return {*Settings.model_construct(**filled).environment()}


def test_kinds_and_names_are_those_that_the_documents_speak_of() -> None:
    found = [(document["kind"], document["metadata"]["name"]) for document in documents()]
    assert sorted(found) == sorted(NAMED)


def test_the_kustomization_has_every_file() -> None:
    kustomization = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text(encoding="utf-8"))
    assert sorted(kustomization["resources"]) == [file.name for file in FILES]


def test_every_variable_is_a_setting() -> None:
    [config] = [document for document in documents() if document["kind"] == "ConfigMap"]
    given = {*config["data"], *(variable["name"] for each in containers() for variable in each.get("env", ()))}
    assert given - ELSEWHERE <= settings_variables()
    settings = Settings.load(
        **{name.removeprefix("PCDS_").lower(): value for name, value in config["data"].items() if name not in ELSEWHERE}
    )
    assert settings.base_url == config["data"]["PCDS_BASE_URL"]


def test_what_pods_refer_to_is_there() -> None:
    configs = {name for kind, name in NAMED if kind == "ConfigMap"}
    claims = {name for kind, name in NAMED if kind == "PersistentVolumeClaim"}
    for each in containers():
        for source in each["envFrom"]:
            assert source.get("configMapRef", {"name": "pcds"})["name"] in configs
            assert source.get("secretRef", {"name": "pcds"})["name"] in SECRETS
    for pod in templates().values():
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for volume in volumes.values():
            assert volume.get("secret", {"secretName": "pcds"})["secretName"] in SECRETS
            assert volume.get("persistentVolumeClaim", {"claimName": "pcds-shared"})["claimName"] in claims
        mounted = {mount["name"] for each in pod["containers"] for mount in each["volumeMounts"]}
        assert mounted == {*volumes}


def test_every_container_starts_a_program_of_ours() -> None:
    started = []
    for each in containers():
        match each["command"]:
            case ["python", "-m", "api.start", name]:
                started.append(name)
                assert name == each["name"]
            case ["pcds", command]:
                assert cli.build_program([command])
            case other:
                assert other == ["python", "-m", "pipelines.engine.run", "catalogue-refresh", "--if-needed"]
    assert {*started} == {*programs.BY_NAME} - {"celery-worker"}


def test_whoever_needs_the_code_server_has_it_in_the_same_pod() -> None:
    """They meet at a socket of the data directory."""
    settings = Settings.load()
    for pod in templates().values():
        names = {each["name"] for each in pod["containers"]}
        if any(name in programs.BY_NAME and programs.BY_NAME[name](settings).after for name in names):
            assert "dagster-code" in names


def test_probes_ask_what_the_service_answers() -> None:
    paths = {name.partition(" ")[2] for name in named(build_app().routes)}
    [api] = [each for each in containers() if each["name"] == "api"]
    [config] = [document for document in documents() if document["kind"] == "ConfigMap"]
    assert [str(port["containerPort"]) for port in api["ports"]] == [config["data"]["PCDS_PORT"]]
    asked = {kind: api[kind]["httpGet"]["path"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert asked == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    assert {*asked.values()} <= paths


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_published_schemas_of_kubernetes_allow_it(file: Path) -> None:
    schemas = pytest.importorskip("kubernetes_validate", reason="needs kubernetes-validate: make distributed")
    for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
        schemas.validate(document, schemas.latest_version(), strict=True)


def test_celery_changes_the_launcher_and_nothing_else() -> None:
    shipped, celery = (
        yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in (ROOT / "dagster.yaml", DEPLOY / "celery" / "dagster.yaml")
    )
    assert celery.pop("run_launcher") != shipped.pop("run_launcher")
    assert celery == shipped
