"""`pcds import` as an importer types it, against real processes: send a file, read the reasons, correct, send back."""

import http.server
import io
import json
import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import xlsxwriter

from api.operate.program import Client, Refusal
from pipelines.catalogue import load, read
from schemas.actors import Origin
from tests import preloaded
from tests.clusters import founded
from tests.journeys.place import Place
from tests.pipelines.rewriting import with_text
from tests.waiting import wait_until
from tools.ports import free_port
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """The API and a worker on a data directory that the server's own account can go through."""
    with tempfile.TemporaryDirectory(prefix="pcds-import-", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o711)
        data_dir = Path(directory) / "data"
        place = Place(Settings.load(data_dir=data_dir, port=free_port(), dagster_port=free_port()))
        with founded(place.settings) as database:
            with Pool(database.app_url) as pool, pool.system() as connection:
                load(connection, read(None), Origin("system", None, None, "c"), datetime.now(UTC))
            place.found(database)
            place.start("api", "worker")
            with place.client:
                wait_until(lambda: (answer := place.ask("GET", "/healthz")) is not None and answer.is_success)
                yield place
            place.end()


class Importer:
    """Someone with the service's address and a key in the environment."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def run(self, *arguments: object, key: str | None = None, typed: str = "") -> subprocess.CompletedProcess[str]:
        address = f"http://127.0.0.1:{self.place.settings.port}"
        environment = os.environ | {"PCDS_KEY": self.place.key if key is None else key, "PCDS_BASE_URL": address}
        return preloaded.pcds("import", *arguments, environment=environment, said=typed)

    def told(self, *arguments: object) -> str:
        done = self.run(*arguments)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def counts(self, *arguments: object) -> dict[str, int]:
        record = json.loads(self.told(*arguments, "--json"))
        assert list(record) == ["id", "status", "counts", "warning_counts", "asked", "readings"]
        assert record["status"] == "completed"
        return record["counts"]

    def refused(self, status: int, *arguments: object, **more: str) -> str:
        done = self.run(*arguments, **more)
        assert (done.returncode, done.stdout) == (status, ""), done
        assert "Traceback" not in done.stderr
        assert status == 2 or done.stderr.count("\n") == 1
        return done.stderr


@pytest.fixture
def importer(place: Place) -> Importer:
    return Importer(place)


def _outcomes(created: int = 0, updated: int = 0, unchanged: int = 0, rejected: int = 0) -> dict[str, int]:
    total = created + updated + unchanged + rejected
    return {"total": total, "created": created, "updated": updated, "unchanged": unchanged, "rejected": rejected}


def test_a_file_with_faults_is_corrected_and_sent_back(importer, tmp_path):
    """Fix and resend: faults of the reader and of the writer, a dry run before, and the corrected whole afterwards."""
    sent, out, dry = (tmp_path / name for name in ("liste.csv", "errors.csv", "dry.csv"))
    good = "R-0;Étui;12,5;nein;FR;;\r\n"
    bad = (
        "R-1;Pot;84 - 86;non;FR;;x\r\nR-2;Barquette;7;oui;FR;above_limit;\r\n"
        "R-3;Sac;5;non;Atlantis;;\r\n;Sans code;5;non;FR;;\r\n"
    )
    head = "Export 2026;;;;;;\r\nRéférence;Désignation;Poids (g);Contact alimentaire;Marchés;pfas_status;Note\r\n"
    sent.write_bytes((head + good + bad).encode("cp1252"))
    dry_told = importer.told(sent, "--dry-run", "--errors", dry)
    told = importer.told(sent, "--errors", out)
    assert out.read_bytes() == dry.read_bytes()
    only_dry = (
        "This was a dry run: nothing was written.\nSKUs by grade, now and afterwards:\n    new → not_assessed: 1\n"
    )
    assert only_dry in dry_told
    said = dry_told.replace(only_dry, "").replace("dry.csv", "errors.csv")
    assert said == told
    assert "5 SKUs: 1 created, 0 updated, 0 unchanged, 4 rejected." in told
    assert f'send them back: pcds import {out} --mapping \'{{"decimal":","}}\'\n' in told
    for reason in (
        "value_range: 1 row, line 4",
        "pfas_food_contact_prohibited: 1 row, line 5",
        "unknown_market: 1 row, line 6",
        "required: 1 row, line 7",
    ):
        assert f"\n{reason}\n    " in told
    rows = out.read_bytes().decode("cp1252").split("\r\n")
    assert rows[0] == "Export 2026;;;;;;"
    assert [row.split(";")[:8] for row in rows[2:-1]] == [
        [*line.split(";"), str(at)] for at, line in enumerate(bad.split("\r\n")[:-1], 4)
    ]
    wrong_to_right = {"84 - 86": "85", "above_limit": "absent", "Atlantis": "DE", ";Sans code": "R-4;Sans code"}
    text = out.read_bytes().decode("cp1252")
    for wrong, right in wrong_to_right.items():
        text = text.replace(
            f"\r\n{wrong}" if wrong[0] == ";" else f";{wrong};", f"\r\n{right}" if wrong[0] == ";" else f";{right};", 1
        )
    out.write_bytes(text.encode("cp1252"))
    assert importer.counts(out, "--mapping", '{"decimal": ","}') == _outcomes(created=4)
    assert importer.counts(out, "--mapping", '{"decimal": ","}') == _outcomes(unchanged=4)
    sent.write_bytes((head + good).encode("cp1252"))
    assert importer.counts(sent) == _outcomes(unchanged=1)


def test_everything_is_said_in_the_language_that_is_asked_for(importer, tmp_path):
    file, errors = tmp_path / "liste.csv", tmp_path / "fautes.csv"
    file.write_text("sku_code;name;weight_grams\nF-1;Bouteille;beaucoup\nF-2;Barquette;8\nTotal;;8\n")
    done = importer.run(file, "--errors", errors, "--lang", "fr")
    assert done.returncode == 0, done.stderr
    assert "Terminé, 2 SKU : 1 créés, 0 mis à jour, 0 inchangés, 1 rejetés." in done.stdout
    assert "invalid_number : 1 ligne, ligne 2" in done.stdout
    assert "Écrivez la cellule comme un nombre simple" in done.stdout
    assert "Les lignes rejetées sont dans" in done.stdout
    assert "Corrigez-les là et renvoyez-les : pcds import" in done.stdout
    assert "“beaucoup” n'est pas un nombre ; écrivez des chiffres seulement" in errors.read_text("utf-8")
    file.write_text("Clé;Libellé\n1;2\n")
    refused = importer.run(file, "--lang", "de")
    assert refused.returncode == 1
    assert refused.stderr.startswith("Keine Spalte wird als sku_code erkannt.")
    assert importer.run(file, "--lang", "es").returncode == 2


def test_a_workbook_comes_back_with_the_graphs_of_its_rejected_skus(importer, tmp_path):
    sent, out = tmp_path / "portfolio.xlsx", tmp_path / "errors.xlsx"
    parts = [("W-1", "body", "plastic", 20), ("W-1", "cap", "unfug", 2), ("W-2", "body", "glass", 200)]
    sent.write_bytes(_workbook(parts))
    assert importer.counts(sent, "--errors", out) == _outcomes(created=1, rejected=1)
    assert importer.counts(out) == _outcomes(rejected=1)
    out.write_bytes(with_text(out.read_bytes(), "unfug", "metal"))
    assert importer.counts(out) == _outcomes(created=1)
    parts[1] = ("W-1", "cap", "metal", 2)
    sent.write_bytes(_workbook(parts))
    assert importer.counts(sent, "--errors", tmp_path / "none.xlsx") == _outcomes(unchanged=2)
    assert not (tmp_path / "none.xlsx").exists()
    [listed] = importer.place.call("GET", "/api/v1/skus?sku_code=W-1")["data"]
    detail = importer.place.call("GET", f"/api/v1/skus/{listed['id']}")["data"]
    assert [part["component_type"] for part in detail["components"]] == ["body", "cap"]


def _workbook(parts: list[tuple[str, str, str, int]]) -> bytes:
    target = io.BytesIO()
    with xlsxwriter.Workbook(target) as book:
        skus, graphs = book.add_worksheet("Liste"), book.add_worksheet("components")
        for at, row in enumerate([("sku_code", "name"), ("W-1", "Bottle"), ("W-2", "Jar")]):
            skus.write_row(at, 0, row)
        for at, row in enumerate([("sku_code", "component_type", "material_family", "weight_g"), *parts]):
            graphs.write_row(at, 0, row)
    return target.getvalue()


def test_a_long_report_is_written_to_its_end(importer, tmp_path):
    sent, out = tmp_path / "long.csv", tmp_path / "errors.csv"
    sent.write_text("sku_code,name,gtin,weight_grams\n" + "".join(f"L-{n},N,12345,x\n" for n in range(450)))
    told = importer.told(sent, "--dry-run", "--errors", out)
    assert "invalid_gtin: 450 rows, line 2, 3, 4, 5, 6, …\n" in told
    assert "invalid_number: 450 rows" in told
    rows = out.read_text(encoding="utf-8").splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == [f"L-{n}" for n in range(450)]
    assert all(f',{at},"C, D",' in row for at, row in enumerate(rows, 2))


def test_where_a_file_has_both_decimal_marks_they_are_named(importer, tmp_path):
    """The row that told them is accepted and not in the errors file, and no mapping can say both."""
    sent, out = tmp_path / "marks.csv", tmp_path / "errors.csv"
    sent.write_text("sku_code;name;weight_grams;empty_space_ratio\nD-1;a;1,5;2.25\nD-2;b;1,234;x\n")
    told = importer.told(sent, "--dry-run", "--errors", out)
    assert f"pcds import {out}\n" in told
    assert "“,” in weight_grams, “.” in empty_space_ratio" in told


def test_what_is_refused_as_a_whole_says_so_in_a_line(importer, tmp_path):
    table, none = tmp_path / "t.csv", tmp_path / "none.csv"
    table.write_text("Clé;Was\nA-1;Pot\n")
    none.write_text("sku_code,name\n")
    assert "sku_code" in importer.refused(1, table)
    assert "no data line" in importer.refused(1, none)
    assert "mapping" in importer.refused(1, table, "--mapping", "{")
    assert importer.counts(table, "--dry-run", "--mapping", '{"columns": {"sku_code": "A", "name": "B"}}')["total"] == 1
    unknown = importer.refused(1, none, key="svc_" + "x" * 40)
    assert "unknown or revoked" in unknown
    assert "xxxx" not in unknown
    assert "No service answers" in importer.refused(1, none, "--url", f"http://127.0.0.1:{free_port()}")
    assert "No service answers" in importer.refused(1, none, "--url", "http://nowhere.invalid")


def test_wrong_usage_is_told_before_anything_is_sent(importer, tmp_path):
    sent = tmp_path / "t.csv"
    sent.write_text("sku_code,name\nU-1,Pot\n")
    importer.refused(2, tmp_path / "missing.csv")
    importer.refused(2, sent, "--errors", tmp_path / "errors.txt")
    importer.refused(2, sent, "--errors", tmp_path / "no folder" / "errors.csv")
    importer.refused(2, sent, "--errors", sent)
    importer.refused(2, sent, "--url", "nowhere")
    importer.refused(2, sent, key="")
    importer.refused(2, sent, "--key", "-", typed="\n")
    assert importer.place.call("GET", "/api/v1/skus?sku_code=U-1")["data"] == []


def test_the_key_may_come_from_standard_input(importer, tmp_path):
    sent = tmp_path / "t.csv"
    sent.write_text("sku_code,name\nK-1,Pot\n")
    done = importer.run(sent, "--key", "-", "--json", key="svc_of_nobody", typed=f"{importer.place.key}\n")
    assert (done.returncode, json.loads(done.stdout)["counts"]) == (0, _outcomes(created=1))
    assert importer.place.key not in done.stdout + done.stderr


class _Unsteady(http.server.BaseHTTPRequestHandler):
    """Reads the first request and breaks off, asks to wait at the second, answers the third."""

    seen: list[str | None]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append(self.headers["Idempotency-Key"])
        if len(self.seen) == 1:
            self.close_connection = True
        elif len(self.seen) == 2:
            self._answer(429, b"{}", **{"Retry-After": "1"})
        else:
            self._answer(202, b'{"id": "1"}')

    def do_GET(self) -> None:
        self._answer(302, b"{}", Location="http://127.0.0.1:1/")

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def unsteady() -> Iterator[tuple[str, list[str | None]]]:
    handler = type("Handler", (_Unsteady,), {"seen": []})
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", handler.seen
        server.shutdown()
        thread.join()


def test_a_broken_connection_and_a_full_minute_are_repeated_under_one_idempotency_key(unsteady):
    url, seen = unsteady
    assert Client(url, "svc_key").send("/api/v1/imports", {"file": ("f.csv", b"a", "text/csv")}) == {"id": "1"}
    assert len(seen) == 3
    assert seen[0]
    assert len(set(seen)) == 1


def test_a_redirect_does_not_carry_the_key_elsewhere(unsteady):
    with pytest.raises(Refusal):
        Client(unsteady[0], "svc_key").get("/api/v1/imports/1")


def test_archived_skus_of_the_file_are_left_archived_where_that_is_asked_for(importer, tmp_path):
    file = tmp_path / "nightly.csv"
    file.write_text("sku_code,name\nNIGHT-1,Jar\n", encoding="utf-8")
    assert importer.counts(file) == _outcomes(created=1)
    [sku] = importer.place.ask("GET", "/api/v1/skus?sku_code=NIGHT-1").json()["data"]
    assert importer.place.ask("POST", f"/api/v1/skus/{sku['id']}/archive", json={}).is_success
    assert importer.counts(file, "--archived", "keep") == _outcomes(rejected=1)
    assert "sku_archived: 1 row, line 2" in importer.told(file, "--archived", "keep")
    assert importer.counts(file) == _outcomes(updated=1)
    assert "is not one of: return, keep" in importer.refused(2, file, "--archived", "never")


def test_what_was_asked_is_answered_with_the_printed_option(importer, tmp_path):
    file = tmp_path / "asking.csv"
    file.write_text("SKU;Name;Weight\nASKED-1;Jar;180\n", encoding="utf-8")
    told = importer.told(file)
    assert "Completed, 1 question open" in told
    [option] = [line.strip() for line in told.splitlines() if line.strip().startswith("--mapping")]
    [command] = [line.partition("pcds import ")[2] for line in told.splitlines() if "--answer" in line]
    answer, mapping = shlex.split(command)[1], shlex.split(option)[1]
    assert "1 updated" in importer.told("--answer", answer, "--mapping", mapping)
    [sku] = importer.place.ask("GET", "/api/v1/skus?sku_code=ASKED-1").json()["data"]
    assert sku["weight_grams"] == 180
    assert "C weight_grams: “180” → 180 g (1)" in importer.told(file, "--mapping", mapping)
    importer.refused(2, "--answer", answer, "--mapping", "{")
    importer.refused(2, file, "--answer", answer)
    assert importer.counts(file, "--mapping", mapping, "--mapping", '{"decimal": ","}') == _outcomes(unchanged=1)
