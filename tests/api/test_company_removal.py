"""A company leaves: everything of it goes out as files, then all is erased, and its twin is as it was.

What a company has is found by the database's catalogue here, too, so that a table which a later release adds is held
to it without being named.
"""

import csv
import gzip
import io
from datetime import UTC, datetime
from uuid import uuid4

import orjson
import psycopg
import pytest
from psycopg import sql

from services import audit as audit_services
from services import companies
from services.companies import ExportError
from tests.api.asking import ask
from tests.api.people import added
from tests.api.portfolios import counted, run, sent, weighed
from tests.conftest import migrated
from tests.services.making import PDF
from warehouse.audit import chain
from warehouse.companies import removal
from warehouse.operate import dagster_home
from warehouse.operate.sessions import dagster_transaction, owner_transaction
from warehouse.operate.settings import Settings
from warehouse.tables import metadata

ROWS = "sku_code;name;weight_g\nR-1;Jar;12\nR-2;Lid;3\nR-3;Cup;bad\n"


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def extra(database):
    """A table of companies that this release does not know."""
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("CREATE TABLE zz_later (company_id uuid NOT NULL, said text, token_hash bytea)")
        owner.execute("ALTER TABLE zz_later ENABLE ROW LEVEL SECURITY")
        owner.execute("ALTER TABLE zz_later FORCE ROW LEVEL SECURITY")
    yield
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("DROP TABLE zz_later")


def fill(caller, pool, database):
    """Give a company something in many tables; a twin that is filled in the same way has the same codes."""
    sku = caller.made(sku_code="T-1", name="Bottle", markets=["DE"])
    other = caller.made(sku_code="T-2", name="Cap")
    assert caller.put(f"/skus/{sku['id']}", {"sku_code": "T-1", "name": "Flask", "markets": ["DE"]}).status_code == 200
    assert caller.post(f"/skus/{other['id']}/archive", {}).status_code == 200
    file = {"file": ("report.pdf", PDF, "application/pdf")}
    answer = caller.http.post(
        f"/api/v1/skus/{sku['id']}/files",
        headers={"X-API-Key": caller.key},
        files=file,
        data={"type": "test_report"},
    )
    assert answer.status_code == 201, answer.text
    run(caller, sent(caller, ROWS))
    added(pool, caller.company)
    ask(caller, pool)
    counted(caller)
    weighed(caller)
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("INSERT INTO zz_later VALUES (%s, 'later', '\\x01')", [caller.company])


def secured(owner):
    """Every table of companies, and the column that names one, as the information schema tells."""
    found = owner.execute(
        "SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'company_id'"
    ).fetchall()
    return {"companies": "id", **{name: "company_id" for (name,) in found}}


def held(database, company):
    """How many rows of each table a company has, and a digest of them all."""
    with psycopg.connect(database.owner_url) as owner:
        query = (
            "SELECT count(*), md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {} AS t WHERE {} = {}"
        )
        return {
            name: owner.execute(
                sql.SQL(query).format(sql.Identifier(name), sql.Identifier(column), sql.Literal(company))
            ).fetchone()
            for name, column in secured(owner).items()
        }


def files(settings, company):
    places = [settings.data_dir / kind / str(company) for kind in ("objects", "snapshots", "figures")]
    return sorted(path for place in places for path in place.rglob("*") if path.is_file())


def rows(folder, table):
    text = gzip.decompress((folder / "tables" / f"{table}.csv.gz").read_bytes()).decode()
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.usefixtures("extra")
def test_a_company_goes_out_as_files_and_is_erased_and_its_twin_stays(join, pool, database, tmp_path):
    gone, twin = join(), join()
    settings = gone.http.app.state.service.settings
    for each in (gone, twin):
        fill(each, pool, database)
    before, twin_before, twin_files = (
        held(database, gone.company),
        held(database, twin.company),
        files(settings, twin.company),
    )
    ours = {name for name, table in metadata.tables.items() if "company_id" in table.columns}
    assert ours | {"companies", "zz_later"} == {*before}
    assert sum(count > 0 for count, _ in before.values()) >= 14, "the company has something in many tables"

    now, out = datetime.now(UTC), tmp_path / "out"
    about = companies.export(settings, database, gone.company, out, now)
    assert about["tables"] == {name: count for name, (count, _) in before.items()}
    assert {name: len(rows(out, name)) for name in before} == about["tables"]
    assert [row["said"] for row in rows(out, "zz_later")] == ["later"]
    for table, column in (("api_keys", "key_hash"), ("users", "password_hash"), ("zz_later", "token_hash")):
        assert column in about["withheld"][table]
        assert column not in rows(out, table)[0]
    assert {row["sku_code"] for row in rows(out, "skus")} >= {"T-1", "R-1"}
    copied = {path.relative_to(out / "objects") for path in (out / "objects").rglob("*") if path.is_file()}
    stored = settings.data_dir / "objects" / str(gone.company)
    assert copied == {path.relative_to(stored) for path in stored.rglob("*") if path.is_file()}
    assert list((out / "snapshots").rglob("skus-*.parquet"))
    assert list((out / "figures").rglob("tonnes.parquet"))
    with pytest.raises(ExportError, match="there already"):
        companies.export(settings, database, gone.company, out, now)

    def remove(**more):
        return companies.remove(
            settings, database, gone.company, now, by="ops", exported=companies.read(out, gone.company), **more
        )

    for step in ("rows", "files", "runs"):

        def killed(done, step=step):
            if done == step:
                raise Killed

        with pytest.raises(Killed):
            remove(after=killed)
    certificate = remove()
    assert remove() == certificate, "a removal that is done is not done again"
    assert {name: count for name, (count, _) in held(database, gone.company).items() if count} == {}
    assert files(settings, gone.company) == []
    assert held(database, twin.company) == twin_before
    assert files(settings, twin.company) == twin_files
    assert gone.get("/skus").status_code == 401
    assert twin.get("/skus").status_code == 200

    told = orjson.dumps(certificate).decode()
    assert f"Test {gone.company}" not in told
    assert certificate["statement"]["rows"]["skus"] == before["skus"][0]
    assert chain.is_signed(certificate, chain.public_key(settings))
    altered = orjson.loads(told.replace('"removed_by":"ops"', '"removed_by":"eve"'))
    assert not chain.is_signed(altered, chain.public_key(settings))
    check_chain(database, gone.company, out, about)
    with pool.company(twin.company) as connection:
        assert audit_services.verify(connection).ok


def check_chain(database, company, out, about):
    """The kept hashes agree with the certificate's, and the export computes to the same head."""
    with owner_transaction(database.owner_url, company) as owner:
        left = removal.find_removal(owner, company)
        assert left is not None
        assert (left.slug, left.links, left.entries) == (None, about["links"], about["entries"])
        assert removal.agrees(owner, left)
        companies.load_ledger(owner, out)
        verdict = audit_services.verify(owner)
        assert (verdict.ok, verdict.entries) == (True, about["entries"])
        assert removal.loaded(owner, company) == (left.links, None)
        owner.execute("UPDATE pg_temp.audit_entries SET action = 'sku.created' WHERE id = 2")
        owner.execute("UPDATE pg_temp.skus SET name = 'forged'")
        assert not audit_services.verify(owner).ok
        owner.execute("UPDATE public.removed_links SET hash = sha256('x') WHERE company = %s AND number = 2", [company])
        assert not removal.agrees(owner, left)
        owner.rollback()
    with owner_transaction(database.owner_url, company) as owner:
        columns = owner.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'removed_links'"
        ).fetchall()
    assert {name for (name,) in columns} == {"company", "number", "entries", "hash"}


def test_nothing_is_removed_where_something_was_written_since_the_export(caller, database, tmp_path):
    settings = caller.http.app.state.service.settings
    caller.made()
    now, out = datetime.now(UTC), tmp_path / "out"
    companies.export(settings, database, caller.company, out, now)
    caller.made()
    about = companies.read(out, caller.company)
    with pytest.raises(ExportError, match="since the export"):
        companies.remove(settings, database, caller.company, now, by="ops", exported=about)
    assert len(caller.get("/skus").json()["data"]) == 2
    with pytest.raises(ExportError, match="no export of the company"):
        companies.read(out, uuid4())
    (out / "tables" / "skus.csv.gz").write_bytes(b"")
    with pytest.raises(ExportError, match="tables/skus"):
        companies.read(out, caller.company)
    with pytest.raises(ExportError, match="is no export"):
        companies.read(tmp_path, caller.company)


@pytest.mark.long
def test_runs_of_a_companys_partition_go_and_anothers_stay(server, tmp_path):
    with migrated(server) as database:
        assert dagster_home.make_tables(Settings.load(data_dir=tmp_path), database)
        with dagster_transaction(database.dagster_url) as conn:
            for run_id, slug in (("a", "gone"), ("b", "twin")):
                conn.execute(
                    "INSERT INTO runs (run_id, pipeline_name, status, run_body) VALUES (%s, 'j', 'SUCCESS', '{}')",
                    (run_id,),
                )
                conn.execute(
                    "INSERT INTO run_tags (run_id, key, value) VALUES (%s, 'dagster/partition', %s)", (run_id, slug)
                )
                conn.execute("INSERT INTO event_logs (run_id, event, partition) VALUES (%s, '{}', %s)", (run_id, slug))
                conn.execute(
                    "INSERT INTO dynamic_partitions (partitions_def_name, partition) VALUES ('companies', %s)", (slug,)
                )
            found = removal.of_company(conn, "gone")
            assert found == ["a"]
            removal.copy_out_runs(conn, found, tmp_path / "runs.csv.gz")
            assert removal.erase_runs(conn, found, "gone") == 4
            for table in ("runs", "run_tags", "event_logs", "dynamic_partitions"):
                assert conn.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone() == (1,)
            assert removal.of_company(conn, "twin") == ["b"]
    assert b"SUCCESS" in gzip.decompress((tmp_path / "runs.csv.gz").read_bytes())
