"""Files of other people, through the whole road: each ends completed with an outcome for every row, or is refused."""

from pathlib import Path

import pytest

from pipelines.reading.grid import ReadingRefused
from tests.pipelines.conftest import Desk

REAL = Path(__file__).parents[3] / "shared" / "real"
FILES = sorted(path for path in REAL.rglob("*") if path.suffix in (".csv", ".xlsx")) if REAL.is_dir() else []


@pytest.mark.long
@pytest.mark.skipif(not FILES, reason="the collection of real files is not beside the repository")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_real_file_ends_completed_or_is_refused_with_a_reason(desk: Desk, path: Path) -> None:
    try:
        import_id = desk.send(path.read_bytes(), filename=path.name)
    except ReadingRefused as refused:
        short = [issue for issue in refused.issues if len(issue.message) < 20]
        pytest.fail(f"no reason: {short}") if short or not refused.issues else None
        return
    assert desk.finish(import_id)
    ended = desk.poll(import_id)
    assert ended["status"] == "completed"
    assert ended["progress"]["done"] == ended["progress"]["total"]
    stored = desk.rows("SELECT count(*) FROM skus WHERE company_id = %s AND recyclability_grade IS NOT NULL")
    assert stored == [(ended["counts"]["created"],)]
