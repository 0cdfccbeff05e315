"""Private names of Dagster's: which modules import them, and that no other does (decision 0045)."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALLOWED = {
    "pipelines/engine/launcher.py": {"dagster._core.launcher", "dagster._serdes"},
    "pipelines/engine/coordinator.py": {"dagster._core.run_coordinator"},
    # As Dagster's own command that executes a run.
    "pipelines/engine/worker.py": {
        "dagster._grpc.impl",
        "dagster._utils.hosted_user_process",
        "dagster._utils.interrupts",
    },
    # As Dagster's own program `dagster-daemon`, but for how it connects, and when it looks at its queue.
    "pipelines/engine/daemon.py": {
        "dagster._core.workspace.load_target",
        "dagster._daemon.controller",
        "dagster._daemon.daemon",
        "dagster._daemon.run_coordinator.queued_run_coordinator_daemon",
        "dagster._utils.interrupts",
    },
    # As Dagster's own package for Celery, whose launcher and tasks these complete (docs/scaling.md).
    "pipelines/engine/celery_launcher.py": {"dagster._core.launcher", "dagster._grpc.types", "dagster._serdes"},
    "pipelines/engine/celery_app.py": {"dagster._grpc.types", "dagster._serdes", "dagster._utils.interrupts"},
    # As Dagster's own program `dagster-webserver` builds its application, to put the door before it (decision 0032).
    "pipelines/engine/ui.py": {"dagster._core.workspace.context", "dagster._core.workspace.load_target"},
}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def is_private(module: str) -> bool:
    first, *rest = module.split(".")
    return first.startswith("dagster") and any(part.startswith("_") for part in rest)


def test_only_the_extension_points_import_private_names() -> None:
    found = {
        str(path.relative_to(ROOT)): private
        for folder in (
            "api",
            "bench",
            "compliance",
            "connector",
            "pipelines",
            "schemas",
            "services",
            "tools",
            "warehouse",
        )
        for path in (ROOT / folder).rglob("*.py")
        if (private := {module for module in imported(path) if is_private(module)})
    }
    assert found == ALLOWED
