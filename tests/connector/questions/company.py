"""A company whose records make each question's answer more than zero, one or all: written through the service's own
write path, import, figures and declarations.
"""

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

from connector.tools.imports import read_apart
from pipelines.imports.submissions import Submission, keep_file, submit
from pipelines.readers import requests
from schemas.actors import Actor, Origin
from schemas.filings import DeclarationInput
from schemas.skus.inputs import parse_sku, parse_volumes
from schemas.suppliers import SupplierEnquiryInput
from services import suppliers as operations
from services.filings import filing
from services.skus.write import write_records, write_volumes
from tests.api import portfolios
from tests.connector.assistants import Assistant
from warehouse import conformity, library
from warehouse.operate.clock import StoppedClock
from warehouse.skus import queries as skus
from warehouse.suppliers import EnquiryLinks

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
"""The clock of these tests: a Saturday."""
LAST_WEEK = NOW - timedelta(days=10)
IMPORT = """sku_code,name,weight_grams,markets,gtin
IMP-1,Imported box,12.5,FR,
IMP-2,Imported bag,much,FR,
IMP-3,Imported lid,3,FR,123
"""


def part(kind: str, family: str, material: str | None, grams: float | None, **more: Any) -> dict[str, Any]:
    """One component."""
    given = {"component_type": kind, "material_family": family, "polymer_or_grade": material, "weight_g": grams, **more}
    return {name: value for name, value in given.items() if value is not None}


def items(cap_id: str, supplier_id: str) -> list[dict[str, Any]]:
    """The items, each with what a question asks about."""
    absent = {"bpa": {"status": "absent"}, "pfas": {"status": "absent"}}
    cap = {"component_type": "cap", "component_id": cap_id, "attachment": "detaches", "separable": True}
    return [
        {
            "sku_code": "WTR-02",
            "name": "Water bottle 0.5 l",
            "packaging_format": "bottle",
            "packaging_level": "sales",
            "use_contexts": ["beverage"],
            "food_contact": True,
            "reusable": False,
            "markets": ["FR", "DE", "GB", "ES"],
            "substances": absent,
            "sorting_label_scheme": "triman_fr",
            "components": [
                part(
                    "body",
                    "plastic",
                    "PET",
                    10,
                    colour="transparent",
                    recycled_content_percent=30,
                    supplier_id=supplier_id,
                ),
                cap,
                part("label", "plastic", "PP", 0.5),
            ],
        },
        {
            "sku_code": "JCE-01",
            "name": "Juice bottle 1 l",
            "packaging_format": "bottle",
            "packaging_level": "sales",
            "use_contexts": ["beverage"],
            "food_contact": True,
            "reusable": False,
            "markets": ["FR"],
            "sorting_label_scheme": "none",
            "components": [part("body", "plastic", "PET", 30, colour="transparent", recycled_content_percent=10), cap],
        },
        {
            "sku_code": "PCH-04",
            "name": "Soup pouch",
            "packaging_format": "pouch",
            "packaging_level": "sales",
            "use_contexts": ["food"],
            "food_contact": True,
            "markets": ["FR", "DE"],
            "substances": absent,
            "components": [
                part("body", "plastic", "PET", 2, thickness_um=12),
                part("body", "plastic", "PE", 5, thickness_um=80),
                part("label", "plastic", "PVC", 1),
            ],
        },
        {
            "sku_code": "BLS-05",
            "name": "Blister",
            "packaging_format": "blister",
            "packaging_level": "sales",
            "use_contexts": ["household"],
            "food_contact": False,
            "markets": ["FR"],
            "components": [part("body", "plastic", "PVC", 8, recycled_content_percent=0)],
        },
        {
            "sku_code": "CHP-17",
            "name": "Crisps bag",
            "packaging_format": "bag",
            "packaging_level": "sales",
            "use_contexts": ["food"],
            "food_contact": True,
            "markets": ["DE"],
            "components": [part("body", "plastic", None, 4, supplier_id=supplier_id)],
        },
        {
            "sku_code": "TRY-06",
            "name": "Fruit tray",
            "packaging_format": "tray",
            "packaging_level": "sales",
            "use_contexts": ["food"],
            "food_contact": True,
            "markets": ["FR"],
            "substances": {"heavy_metals": {"status": "above_limit"}, "bpa": {"status": "above_limit"}},
            "components": [part("body", "plastic", "PET", 12)],
        },
        {
            "sku_code": "HTL-08",
            "name": "Hotel shampoo bottle",
            "packaging_format": "bottle",
            "packaging_level": "sales",
            "use_contexts": ["cosmetics"],
            "reusable": False,
            "markets": ["FR"],
            "components": [part("body", "plastic", "HDPE", 5)],
        },
        {
            "sku_code": "PMP-01",
            "name": "Pump dispenser",
            "packaging_level": "sales",
            "markets": ["DE"],
            "components": [part("pump", "plastic", "PP", 9)],
        },
        {
            "sku_code": "WIN-03",
            "name": "Wine bottle",
            "packaging_format": "bottle",
            "packaging_level": "sales",
            "use_contexts": ["beverage"],
            "food_contact": True,
            "markets": ["FR", "GB"],
            "material": "glass",
            "components": [part("body", "glass", "GL71", 450, colour="transparent")],
        },
        {
            "sku_code": "BOX-09",
            "name": "Shipping box",
            "packaging_format": "box",
            "packaging_level": "transport",
            "markets": ["FR"],
            "food_contact": False,
            "components": [part("body", "paper", "PAP 20", 300)],
        },
    ]


VOLUMES = {
    "WTR-02": [
        ("FR", 2026, 0, 2_000_000),
        ("DE", 2025, 0, 4_000_000),
        ("GB", 2026, 1, 300_000),
        ("ES", 2026, 0, 3_000_000),
    ],
    "PCH-04": [("FR", 2026, 0, 500_000), ("DE", 2025, 0, 1_000_000)],
    "CHP-17": [("DE", 2025, 0, 2_500_000)],
    "WIN-03": [("FR", 2026, 0, 100_000), ("GB", 2026, 1, 20_000)],
    "PMP-01": [("DE", 2025, 0, 10_000)],
    "HTL-08": [("FR", 2026, 0, 40_000), ("GB", 2026, 0, 5_000)],
}


async def filled(assistant: Assistant, clock: StoppedClock) -> None:
    """Write all of it to the assistant's company; the clock is at `NOW` in the end."""
    service, company = assistant.service, assistant.company
    clock.advance(LAST_WEEK - clock.now())
    by = {name: Origin("user", str(uuid4()), name, str(uuid4())) for name in ("Ada Lovelace", "Night sync")}
    with service.writes.company(company) as conn:
        supplier = library.add(conn, "supplier", company, uuid4(), values={"name": "Préformes du Rhône"}, at=LAST_WEEK)
        cap = library.add(conn, "library_component", company, uuid4(), at=LAST_WEEK, values={
            "code": "CAP-PP-28", "name": "cap PP 28 mm", "component_type": "cap", "material_family": "plastic",
            "polymer_or_grade": "PP", "weight_g": 1.5})  # fmt: skip
    write(assistant, items(str(cap["id"]), str(supplier["id"])), by["Night sync"], LAST_WEEK)
    for code, rows in VOLUMES.items():
        _place(assistant, code, rows, by["Night sync"], LAST_WEEK)
    with service.writes.company(company) as conn:
        _cover(conn, company, "WTR-02", "DOC-1", NOW.date() + timedelta(days=30))
        _cover(conn, company, "WIN-03", "DOC-2", NOW.date() + timedelta(days=300))
        asked = SupplierEnquiryInput.model_validate(
            {"supplier_name": "Préformes du Rhône", "sku_codes": ["CHP-17", "PCH-04"], "due_on": "2026-11-20"}
        )
        actor = Actor(company, by["Ada Lovelace"], LAST_WEEK)
        operations.create_enquiry(conn, actor, asked, EnquiryLinks(service.settings))
    clock.advance(NOW - clock.now())
    write(assistant, [{"sku_code": "CHP-17", "components": [part("body", "plastic", None, 5,
           supplier_id=str(supplier["id"]))]}], by["Ada Lovelace"], NOW)  # fmt: skip
    await _imported(assistant, by["Night sync"])
    caller = caller_of(assistant)
    portfolios.counted(caller)
    portfolios.weighed(caller)
    _declared(assistant, by["Ada Lovelace"])


def place_units(assistant: Assistant, code: str, rows: list[tuple[str, int, int, int]]) -> None:
    """Write units of an item: market, year, half and number."""
    _place(assistant, code, rows, Origin("operator", "test", "test", str(uuid4())), assistant.service.clock.now())


def published(assistant: Assistant) -> None:
    """Publish a snapshot of the company's records as they stand."""
    portfolios.counted(caller_of(assistant))


def caller_of(assistant: Assistant) -> Any:
    """The assistant's service and company, as helpers of the API's tests take them."""
    app = SimpleNamespace(state=SimpleNamespace(service=assistant.service))
    return SimpleNamespace(http=SimpleNamespace(app=app), company=assistant.company)


def write(assistant: Assistant, rows: list[dict[str, Any]], origin: Origin, now: datetime) -> None:
    """Write items as a person or an application."""
    records = {place: parse_sku({"name": "Crisps bag", **row}) for place, row in enumerate(rows)}
    with assistant.service.writes.company(assistant.company) as conn:
        written = write_records(
            conn, Actor(assistant.company, origin, now), records, rulesets=assistant.service.rulesets, dry_run=False
        )
    assert not [row.errors for row in written.values() if row.errors], [row.errors for row in written.values()]


def _place(
    assistant: Assistant, code: str, rows: list[tuple[str, int, int, int]], origin: Origin, now: datetime
) -> None:
    names = ("market", "year", "half", "units_placed")
    sent = [
        {name: value for name, value in zip(names, row, strict=True) if (name, value) != ("half", 0)} for row in rows
    ]
    with assistant.service.writes.company(assistant.company) as conn:
        write_volumes(
            conn,
            Actor(assistant.company, origin, now),
            code,
            parse_volumes(sent),
            rulesets=assistant.service.rulesets,
            dry_run=False,
        )


def _cover(conn: Any, company: UUID, code: str, reference: str, last_day: date) -> None:
    values = {"sku_id": skus.id_of(conn, code), "reference": reference, "supplier_name": None, "status": "valid",
              "issued_on": date(2026, 1, 1), "expires_on": last_day}  # fmt: skip
    conformity.add(conn, company, uuid4(), at=NOW, values=values)


async def _imported(assistant: Assistant, origin: Origin) -> None:
    service, company = assistant.service, assistant.company
    order = requests.reading_request(IMPORT.encode(), "night.csv", mapping=None, mapping_name=None, words={},
                                     today=NOW.date())  # fmt: skip
    read = await read_apart(service, company, order)
    kept = keep_file(service.objects, company, IMPORT.encode(), read.table)
    with service.writes.company(company) as conn:
        sent = Submission(IMPORT.encode(), "night.csv", dry_run=False)
        actor = Actor(company, origin, service.clock.now())
        submit(conn, actor, service.objects, kept, sent, upload=read)
    portfolios.run(caller_of(assistant), str(kept.import_id))


def _declared(assistant: Assistant, origin: Origin) -> None:
    service, company = assistant.service, assistant.company
    wanted = DeclarationInput.model_validate({"market": "GB", "year": 2026, "half": 1, "format": "json"})
    actor = Actor(company, origin, service.clock.now())
    data_dir, rulesets = service.settings.data_dir, service.rulesets
    prepared = filing.prepare(service.writes, actor, wanted, data_dir=data_dir, rulesets=rulesets)
    made = filing.make(prepared.inputs, wanted)
    with service.writes.company(company) as conn:
        filing.keep(conn, actor, made)
