"""What lies in deploy/: as far as a machine without a cluster can tell, it names only what there is."""

import shutil
import subprocess
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from api import cli
from api.app import build_app
from api.operate import start
from tests.api.test_isolation import named
from warehouse.operate import keys as keys_operate
from warehouse.operate.settings import Settings

PROGRAMS = start.programs(Settings.load())

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
BASE, EXAMPLE = DEPLOY / "kubernetes" / "base", DEPLOY / "kubernetes" / "overlays" / "example"
FILES = sorted(path for path in BASE.glob("*.yaml") if path.name != "kustomization.yaml")
KUBECTL = shutil.which("kubectl")
NAMED = {
    ("ConfigMap", "pcds"),
    ("Service", "pcds"),
    ("PersistentVolumeClaim", "pcds-shared"),
    ("Job", "pcds-migrate"),
    ("Deployment", "pcds-api"),
    ("Deployment", "pcds-daemon"),
    ("Deployment", "pcds-worker"),
    ("NetworkPolicy", "pcds"),
    ("NetworkPolicy", "pcds-api"),
    ("PodDisruptionBudget", "pcds-api"),
    ("PodDisruptionBudget", "pcds-worker"),
}
SECRETS = {"pcds", "pcds-keys"}
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


def test_every_program_is_given_the_deployments_keys() -> None:
    """One without them would seal, sign and link by keys of its own; `migrate` without them would make others."""
    keys = {f"/data/{name}" for name in keys_operate.NAMES}
    for container in containers():
        assert keys <= {mount["mountPath"] for mount in container["volumeMounts"]}, container["name"]
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    ours = {name: service for name, service in services.items() if service["image"] == "pcds"}
    assert len(ours) > 5
    for name, service in ours.items():
        assert keys <= {secret["target"] for secret in service["secrets"]}, name


def settings_variables() -> set[str]:
    filled = dict.fromkeys(Settings.model_fields, "x")
    return {*Settings.model_construct(**filled).environment()}


def test_kinds_and_names_are_those_that_the_documents_speak_of() -> None:
    found = [(document["kind"], document["metadata"]["name"]) for document in documents()]
    assert sorted(found) == sorted(NAMED)


def kustomization(folder: Path) -> dict[str, Any]:
    return dict(yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8")))


def made(kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each["spec"] for each in documents() if each["kind"] == kind}


def test_the_base_has_every_file_and_the_example_names_what_the_base_has() -> None:
    assert kustomization(BASE)["resources"] == [file.name for file in FILES]
    example = kustomization(EXAMPLE)
    assert {*example} == {"apiVersion", "kind", "namespace", "resources", "images", "replicas", "patches"}
    assert [(EXAMPLE / each).resolve() for each in example["resources"]] == [BASE]
    assert {each["name"] for each in example["images"]} == {each["image"] for each in containers()}
    assert {each["name"] for each in example["replicas"]} <= {*made("Deployment")}
    patches = [yaml.safe_load((EXAMPLE / each["path"]).read_text(encoding="utf-8")) for each in example["patches"]]
    assert {(patch["kind"], patch["metadata"]["name"]) for patch in patches} <= NAMED


def test_no_container_has_rights_or_writes_outside_its_volumes() -> None:
    for pod in templates().values():
        assert pod["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "runAsGroup": 10001,
            "fsGroup": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert pod["automountServiceAccountToken"] is False
    for each in containers():
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_what_runs_twice_keeps_one_while_nodes_are_drained() -> None:
    several = {name: spec["selector"] for name, spec in made("Deployment").items() if spec["replicas"] > 1}
    budgets = made("PodDisruptionBudget")
    assert {name: spec["selector"] for name, spec in budgets.items()} == several
    assert {spec["minAvailable"] for spec in budgets.values()} == {1}


def test_pods_are_reached_by_the_port_of_the_api_alone() -> None:
    label = "app.kubernetes.io/name"
    labels = {
        each["spec"]["template"]["metadata"]["labels"][label]
        for each in documents()
        if each["kind"] in ("Deployment", "Job")
    }
    policies = made("NetworkPolicy")
    [every] = policies["pcds"]["podSelector"]["matchExpressions"]
    assert (every["key"], every["operator"], {*every["values"]}) == (label, "In", labels)
    assert policies["pcds"]["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policies["pcds"]
    assert policies["pcds-api"]["podSelector"]["matchLabels"][label] in labels
    [api] = [each for each in containers() if each["name"] == "api"]
    [opened] = policies["pcds-api"]["ingress"]
    assert [port["port"] for port in opened["ports"]] == [port["name"] for port in api["ports"]]


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
            case ["python", "-m", "api.operate.start", name]:
                started.append(name)
                assert name == each["name"]
            case ["pcds", command]:
                assert cli.build_program([command])
            case other:
                assert other == ["python", "-m", "pipelines.commands", "catalogue-refresh", "--if-needed"]
    assert {*started} == {*PROGRAMS} - {"celery-worker"}


def test_whoever_needs_the_code_server_has_it_in_the_same_pod() -> None:
    """They meet at a socket of the data directory."""
    for pod in templates().values():
        names = {each["name"] for each in pod["containers"]}
        if any(name in PROGRAMS and PROGRAMS[name].after for name in names):
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
    allowed(file.read_text(encoding="utf-8"))


@pytest.mark.skipif(KUBECTL is None, reason="needs kubectl, whose own kustomize builds the example")
def test_kustomize_builds_the_example() -> None:
    built = subprocess.run([str(KUBECTL), "kustomize", EXAMPLE], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    found = [*yaml.safe_load_all(built.stdout)]
    assert {(each["kind"], each["metadata"]["name"]) for each in found} == NAMED
    assert {each["metadata"]["namespace"] for each in found} == {kustomization(EXAMPLE)["namespace"]}
    pods = [each["spec"]["template"]["spec"] for each in found if each["kind"] in ("Deployment", "Job")]
    images = {each["image"] for pod in pods for each in chain(pod["containers"], pod.get("initContainers", ()))}
    [image] = kustomization(EXAMPLE)["images"]
    assert images == {f"{image['newName']}:{image['newTag']}"}
    [config] = [each["data"] for each in found if each["kind"] == "ConfigMap"]
    patch = yaml.safe_load((EXAMPLE / "config.yaml").read_text(encoding="utf-8"))["data"]
    [base] = [each["data"] for each in documents() if each["kind"] == "ConfigMap"]
    assert config == base | patch
    allowed(built.stdout)


def allowed(text: str) -> None:
    """Holds documents against the published schemas, which know no other fields."""
    schemas = pytest.importorskip("kubernetes_validate", reason="needs kubernetes-validate: make setup-dev")
    for document in yaml.safe_load_all(text):
        schemas.validate(document, schemas.latest_version(), strict=True)


def test_celery_changes_the_launcher_and_nothing_else() -> None:
    shipped, celery = (
        yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in (ROOT / "dagster.yaml", DEPLOY / "celery" / "dagster.yaml")
    )
    assert celery.pop("run_launcher") != shipped.pop("run_launcher")
    assert celery == shipped
