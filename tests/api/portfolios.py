"""What the workers do behind a company's pages, done at once: imports run, the portfolio counted, tonnes computed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID, uuid4

from api.http.service import Service
from pipelines import figures
from pipelines.exports import Place, export_waiting
from pipelines.figures import blocks
from pipelines.imports import report
from pipelines.imports.process import Job, rows_due, write_rows
from pipelines.reading.rows import TypedRows, type_rows
from pipelines.reading.upload import Upload
from warehouse.figures import snapshots
from warehouse.figures.overview import keep_head_figures
from warehouse.figures.stored import Basis
from warehouse.imports import claims
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets

BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}


def service_behind(caller: Any) -> Service:
    """Of the app that a caller calls."""
    return caller.http.app.state.service


def placed(
    caller: Any, code: str, components: list[Any], *rows: tuple[str, int, int, int], level: str = "transport"
) -> None:
    """A SKU of which units were placed on markets: market, year, half and units of each row."""
    made = caller.made(sku_code=code, packaging_level=level, components=components)
    volumes = [{"market": m, "year": y, "half": h, "units_placed": units} for m, y, h, units in rows]
    assert caller.put(f"/skus/{made['id']}/volumes", volumes).status_code == 200


def counted(caller: Any) -> None:
    """The company's portfolio as it is now, in a snapshot."""
    service = service_behind(caller)
    snapshots.publish(service.writes, caller.company, service.settings.data_dir, service.clock.now(), service.rulesets)


def weighed(caller: Any) -> None:
    """The tonnes of the newest snapshot."""
    service = service_behind(caller)
    weigh(service.writes, service.rulesets, service.settings.data_dir, caller.company)


def weigh(writes: Pool, rulesets: Rulesets, data_dir: Path, company: UUID) -> None:
    """The tonnes of a company's newest snapshot, kept in a data directory."""
    snapshot = snapshots.current(data_dir, company)
    assert snapshot is not None
    with writes.company(company) as conn:
        catalogue, rules = figures.loaded_catalogue(conn), rulesets.active(conn)
    found = figures.compute_figures(blocks(snapshot), catalogue.entries, rules, lambda: None)
    origin = Basis(
        snapshot.path, snapshot.as_of, snapshot.number, rules.version, catalogue.source_hash, snapshot.writes
    )
    published = figures.publish_figures(data_dir, company, origin, found, figures.compute_obligations(found))
    with writes.company(company) as conn:
        keep_head_figures(conn, snapshot, published)


def sent(caller: Any, text: str, filename: str = "portfolio.csv") -> str:
    """The id of an import that waits for a run."""
    answer = caller.request("POST", "/imports", files={"file": (filename, text.encode())})
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def run(caller: Any, import_id: str) -> None:
    """The import written to its end."""
    service = service_behind(caller)
    taken = claims.take(service.writes, service.clock, caller.company, UUID(import_id), uuid4())
    assert taken is not None
    loaded = report.load(service.writes, caller.company, taken.import_id)
    upload = Upload.from_bytes(service.objects.get(loaded.table_key))

    def typed_rows(upload: Upload) -> TypedRows:
        return type_rows(upload, default_year=loaded.default_year, served_markets=frozenset({"FR", "DE"}))

    def typed_rows_of(open_file: Callable[[], BinaryIO]) -> TypedRows:
        with open_file() as file:
            return typed_rows(Upload.from_bytes(file.read()))

    typed = rows_due(service.writes, service.objects, loaded, typed_rows(upload), typed_rows_of)
    job = Job(service.writes, service.settings.data_dir, service.clock, service.rulesets, taken, loaded, upload, typed)
    write_rows(job, proceed=lambda: None)


def exported(caller: Any) -> dict[str, int]:
    """The company's waiting exports, written."""
    service = service_behind(caller)
    place = Place(service.writes, service.objects, service.clock, service.settings.data_dir, caller.company)
    return export_waiting(place, uuid4(), lambda: None)
