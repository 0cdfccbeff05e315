"""Where a job's steps run is a setting: without one in the process, with one where a file says."""

from pathlib import Path

import dagster as dg
import pytest

from pipelines.definitions import defs
from pipelines.executor import chosen
from warehouse.settings import SettingsError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "executor.yaml"


def test_without_a_file_steps_run_in_the_process() -> None:
    assert chosen(None) is dg.in_process_executor


def test_a_file_names_the_executor_and_its_configuration(file: Path) -> None:
    file.write_text("executor: dagster:multiprocess_executor\nexecution: {config: {max_concurrent: 3}}\n")
    found = chosen(file)
    assert found.name == "multiprocess"
    resolved = found.apply_config_mapping({"config": {}})
    assert resolved.success
    assert resolved.value["config"]["max_concurrent"] == 3


def test_an_executor_needs_no_configuration(file: Path) -> None:
    file.write_text("executor: dagster:in_process_executor\n")
    assert chosen(file).name == "in_process"


@pytest.mark.parametrize("named", ["dagster_of_nobody:executor", "dagster:nothing", "dagster:job", "dagster", "", "3"])
def test_what_is_no_executor_is_refused_in_a_sentence(file: Path, named: str) -> None:
    file.write_text(f"executor: {named}\n")
    with pytest.raises(SettingsError, match=r"PCDS_EXECUTOR is not usable: .* such as dagster_celery:celery_executor"):
        chosen(file)


def test_a_file_that_is_not_there_is_refused_by_its_name(file: Path) -> None:
    with pytest.raises(SettingsError, match=r"there is no file executor\.yaml"):
        chosen(file)


def test_only_jobs_that_pass_nothing_in_memory_may_run_on_several_machines() -> None:
    """Their steps would look for frames that another process holds."""
    passing = {"import_file", "publish_portfolio", "roll_up"}
    assert {name for name in passing if defs.resolve_job_def(name).executor_def is dg.in_process_executor} == passing
