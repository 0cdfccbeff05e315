"""One program by itself, with the variables that it needs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from api.operate import start
from warehouse.operate import dagster_home
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings, SettingsError

PROGRAMS = start.programs(Settings.load())

DATABASE = {"DATABASE_URL": "postgresql://owner:secret@127.0.0.1:1/nowhere"}


def started(tmp_path: Path, name: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = DATABASE | {"PCDS_DATA_DIR": str(tmp_path)} | variables
    return subprocess.run(
        [sys.executable, "-m", "api.operate.start", name],
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_engine_s_instance_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("telemetry: {enabled: false}\n")
    settings = Settings.load(data_dir=tmp_path, dagster_yaml=own, database_url=DATABASE["DATABASE_URL"])
    home = Path(dagster_home.environment(settings, Database.from_settings(settings))["DAGSTER_HOME"])
    assert (home / "dagster.yaml").read_bytes() == own.read_bytes()
    own.unlink()
    with pytest.raises(SettingsError, match="PCDS_DAGSTER_YAML is not usable: No such file"):
        dagster_home.environment(settings, Database.from_settings(settings))


def test_what_cannot_be_used_is_said_in_a_sentence(tmp_path: Path) -> None:
    done = started(tmp_path, "dagster-daemon", PCDS_DAGSTER_YAML=str(tmp_path / "none.yaml"))
    assert (done.returncode, done.stderr) == (1, "PCDS_DAGSTER_YAML is not usable: No such file or directory.\n")


def test_only_programs_of_the_service_are_started(tmp_path: Path) -> None:
    done = started(tmp_path, "somebody")
    assert done.returncode == 2
    assert all(name in done.stderr for name in PROGRAMS)
