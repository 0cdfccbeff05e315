"""`pcds snapshot` as an operator types it, on a data directory where no service runs."""

from pathlib import Path

import psycopg
import pytest

from tests.api.test_commands import NOBODY
from tests.clusters import founded
from tests.commands import Pcds, started
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings


@pytest.fixture(scope="module")
def pcds(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("snapshots")
    folder.chmod(0o711)
    settings = Settings.load(data_dir=folder / "data")
    with founded(settings):
        yield Pcds(settings.data_dir)


def test_companies_are_published_all_or_one(pcds: Pcds) -> None:
    assert pcds.json("snapshot") == {"companies": []}
    first, second = (pcds.json("company", "add", "--name", name, "--plan", "growth")["id"] for name in ("A", "B"))
    every = pcds.json("snapshot")["companies"]
    assert [company["company_id"] for company in every] == [first, second]
    [one] = pcds.json("snapshot", "--company", second)["companies"]
    assert set(one) == {"company_id", "path", "as_of", "rows"}
    assert one["rows"] == {"skus": 0, "components": 0, "volumes": 0}
    assert one["path"].startswith(f"snapshots/{second}/")
    assert one["as_of"].endswith("Z")
    assert (pcds.data_dir / one["path"] / "skus-00000.parquet").is_file()
    assert one["path"] != every[1]["path"], "a snapshot never changes"


def test_a_company_that_is_none_is_refused_in_one_sentence(pcds: Pcds) -> None:
    said = pcds.refused(1, "snapshot", "--company", NOBODY)
    assert (
        said == f"No snapshot was published. There is no company {NOBODY}; `pcds company list` shows those there are.\n"
    )
    pcds.refused(2, "snapshot", "--company", Path("../../etc"))


def test_a_run_is_a_program_of_its_own_that_the_command_starts(pcds: Pcds) -> None:
    """Elsewhere in the tests it is forked (`tests.preloaded`)."""
    done = started("snapshot", "--company", NOBODY, "--data-dir", pcds.data_dir)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", pcds.refused(1, "snapshot", "--company", NOBODY))


def test_each_company_has_a_run_of_its_own(pcds: Pcds) -> None:
    for number in range(3):
        pcds.json("company", "add", "--name", f"M{number}", "--plan", "growth")
    pcds.json("snapshot")  # the first run makes Dagster's tables
    before = runs(pcds)
    every = [company["company_id"] for company in pcds.json("snapshot")["companies"]]
    assert runs(pcds) == before + len(every)
    rolled = pcds.json("rollup")["companies"]
    assert [company["company_id"] for company in rolled] == every
    assert runs(pcds) == before + 2 * len(every)


def runs(pcds: Pcds) -> int:
    """How many runs Dagster has recorded."""
    database = Database.from_settings(Settings.load(data_dir=pcds.data_dir))
    with psycopg.connect(database.owner_url) as owner:
        row = owner.execute("SELECT count(*) FROM dagster.runs").fetchone()
    return row[0]
