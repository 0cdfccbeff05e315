"""What tests of imports share: a desk over the test database, ways to send a file, run it and look at the rows."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import dagster as dg
import psycopg
import pytest
import xlsxwriter

from pipelines.definitions import defs
from pipelines.defs.imports import ClaimedImport, import_claimed, remove_tables
from pipelines.engine.jobs import import_config, run_config
from pipelines.engine.runs import partition_of
from pipelines.imports import report, submissions
from pipelines.readers.pool import Readers
from pipelines.reading.upload import PackedUpload, read_upload
from pipelines.writing.write import PlanLimitReached
from schemas.actors import Actor, Origin
from tests.pipelines.instances import ephemeral
from tests.pipelines.stocked import Stocked, stock
from warehouse.imports import claims, queries
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool

ORIGIN = Origin("api_key", str(uuid4()), "ERP", "correlation-1", "192.0.2.7", "test")


@dataclass(frozen=True, slots=True)
class Desk(Stocked):
    """One company's way to send files and to see what came of them."""

    database: Database
    instance: dg.DagsterInstance
    company: UUID

    def send(
        self,
        content: str | bytes,
        *,
        dry_run: bool = False,
        filename: str = "portfolio.csv",
        mapping: Mapping[str, object] | None = None,
    ) -> UUID:
        data = content.encode() if isinstance(content, str) else content
        now = self.clock.now()
        read = PackedUpload.from_upload(read_upload(data, filename, mapping=mapping, today=now.date()))
        kept = submissions.keep_file(self.objects, self.company, data, read.table)
        try:
            with self.pool.company(self.company) as conn:
                sent = submissions.Submission(data, filename, dry_run, mapping=mapping)
                actor = Actor(self.company, ORIGIN, now)
                accepted = submissions.submit(conn, actor, self.objects, kept, sent, upload=read)
        except PlanLimitReached:  # as the doors do (`api.imports.submissions`)
            kept.remove(self.objects)
            raise
        return accepted["id"]

    def run(self, import_id: UUID) -> bool:
        """Process an import; whether the run succeeded."""
        return self.launch(import_id).success

    def finish(self, import_id: UUID) -> bool:
        """Do with an import what its run does, without Dagster: that is most of the time which a short file takes."""
        claim = claims.take(self.pool, self.clock, self.company, import_id, uuid4())
        assert claim is not None
        sent = report.load(self.pool, self.company, import_id)

        def fail() -> None:
            raise AssertionError("a contract is broken")

        taken = ClaimedImport(sent, claim, lambda: None, fail)
        made: list[dg.MaterializeResult[None]] = []
        try:
            if import_claimed(self.resources, taken, made):
                remove_tables(self.resources.object_store, sent)
        except dg.Failure:  # the import says why
            return False
        return all(check.passed for asset in made for check in asset.check_results or ())

    def launch(
        self,
        import_id: UUID | str | None,
        *,
        assets: Sequence[str] | None = None,
        run_id: str | None = None,
        partition: str | None = None,
        run_tags: Mapping[str, str] | None = None,
    ) -> dg.ExecuteInProcessResult:
        """Run `import_file`, or some of its assets, for the company or another partition."""
        config = run_config() if import_id is None else import_config(import_id)
        config["resources"] = {"importing": {"config": {"chunk_rows": self.resources.importing.chunk_rows}}}
        with patch(
            "pipelines.engine.resources.shared_resources", lambda: self.resources
        ):  # some assets take no others handed in
            return defs.resolve_job_def("import_file").execute_in_process(
                run_config=config,
                instance=self.instance,
                run_id=run_id,
                tags=dict(run_tags or {}),
                raise_on_error=False,
                asset_selection=None if assets is None else [dg.AssetKey(name) for name in assets],
                partition_key=partition or partition_of(self.instance, self.pool, self.company),
            )

    def poll(self, import_id: UUID) -> dict[str, Any]:
        with self.pool.company(self.company) as conn:
            found = queries.status(conn, import_id, limit=50, offset=0)
        assert found is not None
        return found

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the tables' owner sees of the company, which the query names by `%s`."""
        with psycopg.connect(self.database.owner_url) as owner:
            return owner.execute(query, (self.company,)).fetchall()

    def entries(self) -> dict[str, int]:
        """Audit entries by action."""
        return dict(self.rows("SELECT action, count(*) FROM audit_entries WHERE company_id = %s GROUP BY 1"))


@pytest.fixture
def desk(  # noqa: PLR0917  (fixtures are asked for by name)
    pool: Pool,
    database: Database,
    company: UUID,
    clock: StoppedClock,
    tmp_path: Path,
    instance: dg.DagsterInstance,
    readers: Readers,
) -> Iterator[Desk]:
    """A desk with chunks of three rows, so that a short file has several."""
    yield Desk(stock(pool, clock, tmp_path, readers, chunk_rows=3), database, instance, company)
    with psycopg.connect(database.owner_url) as owner:  # the queue is of all companies, and so of other tests
        owner.execute("UPDATE imports SET status = 'failed' WHERE company_id = %s AND finished_at IS NULL", (company,))


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance that lives as long as the test."""
    with ephemeral() as instance:
        yield instance


Workbook = Callable[..., bytes]


@pytest.fixture
def workbook() -> Workbook:
    """Makes an XLSX file of named sheets, each a list of rows."""

    def make(**sheets: Sequence[Sequence[object]]) -> bytes:
        data = io.BytesIO()
        with xlsxwriter.Workbook(data, {"in_memory": True}) as book:
            for name, rows in sheets.items():
                sheet = book.add_worksheet(name)
                for number, row in enumerate(rows):
                    sheet.write_row(number, 0, row)
        return data.getvalue()

    return make
