"""Which tags of runs people see: those that they search by. What only the machinery reads, Dagster's pages hide."""

from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from dagster._core.storage.tags import TagType, get_tag_type

from api.operate.launching import launch_of_export, launch_of_import
from pipelines.engine import tags
from warehouse.imports.claims import SMALL_ROWS

ROOT = Path(__file__).parents[2]
SEARCHED_BY = {
    *tags.of_import(uuid4(), uuid4(), "a.csv"),
    *tags.of_company(uuid4(), "A"),
    tags.USER,
    tags.REGRADE,
    tags.PARTITION,
    tags.PRIORITY,
}
_VALUES = [value for name, value in vars(tags).items() if name.isupper() and isinstance(value, str | dict)]
OURS = {key for value in _VALUES for key in ([value] if isinstance(value, str) else value)} | SEARCHED_BY


def test_only_what_people_search_by_is_shown() -> None:
    shown = {key for key in OURS if get_tag_type(key) is not TagType.HIDDEN}
    assert shown == SEARCHED_BY


@pytest.mark.parametrize("file", ["dagster.yaml", "deploy/celery/dagster.yaml"])
def test_limits_are_of_tags_that_there_are(file: str) -> None:
    limits = yaml.safe_load((ROOT / file).read_text())["concurrency"]["runs"]["tag_concurrency_limits"]
    assert {limit["key"] for limit in limits} <= OURS


def test_the_api_tags_its_launches_as_sensors_do() -> None:
    """It cannot import the names, because it does not import Dagster."""
    launches = (
        launch_of_import(uuid4(), uuid4(), "acme", "a.csv", SMALL_ROWS + 1, dry_run=False),
        launch_of_export(uuid4(), uuid4(), "acme", SMALL_ROWS + 1),
    )
    for launch in launches:
        sent = {each["key"]: each["value"] for each in launch.variables()["run"]["executionMetadata"]["tags"]}
        assert sent.keys() <= OURS
        assert sent.items() >= {**tags.LARGE, **tags.PCDS}.items()
