"""Isolation: whatever is asked of a reader, it opens the files of its own snapshot and nothing else."""

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import duckdb
import pytest

from warehouse.figures.reader import reader
from warehouse.figures.snapshots import POINTER, Snapshot, current, folder_of, publish
from warehouse.operate.clock import StoppedClock
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets

Publish = Callable[[], Snapshot]


@pytest.fixture
def other(
    write: Callable[..., None], new_company: Callable[[str], UUID], pool: Pool, tmp_path: Path, clock: StoppedClock
) -> Snapshot:
    """Another company's snapshot in the same data directory."""
    stranger = new_company("enterprise")
    write({"sku_code": "SECRET"}, of=stranger)
    return publish(pool, stranger, tmp_path, clock.now(), Rulesets())


@pytest.mark.parametrize("function", ["read_parquet", "read_csv", "read_text", "read_blob", "glob", "parquet_metadata"])
def test_no_path_leads_to_another_company(
    write: Callable[..., None], published: Publish, other: Snapshot, function: str
) -> None:
    write({"sku_code": "OWN"})
    own = published()
    [secret] = other.skus
    (own.folder / "link.parquet").symlink_to(secret)
    stranger = other.folder.parent.name
    paths = [
        secret,
        own.folder / ".." / ".." / stranger / other.name / secret.name,
        own.folder / "link.parquet",
        own.folder.parent.parent / "*" / "*" / secret.name,
        "/etc/passwd",
        own.folder / "*.parquet",
    ]
    with reader(own) as answers:
        for path in paths:
            with pytest.raises(duckdb.Error):
                answers.rows(f"SELECT * FROM {function}($path)", path=str(path))
        assert answers.rows("SELECT sku_code FROM skus") == [("OWN",)]


def test_nothing_is_written_loaded_or_configured(
    write: Callable[..., None], published: Publish, other: Snapshot
) -> None:
    write({"sku_code": "OWN"})
    own = published()
    before = {path: path.read_bytes() for path in own.folder.iterdir()}
    with reader(own) as answers:
        for statement in (
            "SET enable_external_access = true",
            f"SET allowed_paths = ['{other.skus[0]}']",
            "SET memory_limit = '10GB'",
            "RESET allowed_paths",
            f"SET allowed_directories = ['{other.folder}']",
            "INSTALL httpfs",
            "LOAD httpfs",
            f"ATTACH '{own.folder / 'x.db'}'",
            f"COPY skus TO '{own.folder / 'out.csv'}'",
            f"COPY (SELECT 1) TO '{own.skus[0]}'",
            f"EXPORT DATABASE '{own.folder / 'out'}'",
            "SELECT * FROM own",
        ):
            with pytest.raises(duckdb.Error):
                answers.rows(statement)
    assert {path: path.read_bytes() for path in own.folder.iterdir()} == before


def test_a_pointer_to_another_company_is_no_snapshot(
    write: Callable[..., None], published: Publish, other: Snapshot, company: UUID, tmp_path: Path
) -> None:
    write({"sku_code": "OWN"})
    pointer = folder_of(tmp_path, published().company_id) / POINTER
    pointer.write_text(f"../{other.folder.parent.name}/{other.name}", encoding="ascii")
    with pytest.raises(ValueError, match="another company"):
        current(tmp_path, company)


def test_an_answer_has_bounds(write: Callable[..., None], published: Publish) -> None:
    write({"sku_code": "OWN"})
    with reader(published()) as answers, pytest.raises(duckdb.OutOfMemoryException):
        answers.rows("SELECT list(i) FROM range(400000000) AS numbers (i)")
