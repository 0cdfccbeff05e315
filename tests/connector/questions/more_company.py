"""More of the company of these tests, in Austria, the United Kingdom and California; and sums made from what it loads.

The figures that a right answer has are sums over `parts_of` and `placed`, never numbers copied from an answer.
"""

from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from schemas.actors import Actor, Origin
from services import suppliers as operations
from services.review import decide, entries
from tests.api import portfolios
from tests.connector.assistants import Assistant
from tests.connector.questions import company
from tests.connector.questions.company import NOW, part
from warehouse import files, library
from warehouse.files import File
from warehouse.operate.clock import StoppedClock
from warehouse.skus import queries as skus

BRANDS = ("Aurora", "Bellevue")
ALPLA = "Alpla Hard"
LIBRARY = dict.fromkeys((*BRANDS, ALPLA), "")
"""Names of records with their ids, once they are written."""
CAP = {"weight_g": 1.5, "material_family": "plastic", "polymer_or_grade": "PP"}
"""What a line of the shared component takes from it."""


def items() -> list[dict[str, Any]]:
    """The items, each with what a question asks about."""
    drink = {
        "packaging_format": "bottle",
        "packaging_level": "sales",
        "use_contexts": ["beverage"],
        "food_contact": True,
    }
    alpla = {"supplier_id": LIBRARY[ALPLA]}
    return [
        {"sku_code": "AUR-1", "name": "Spring water 1 l", **drink, "markets": ["AT", "GB"], "reusable": False,
         "brand_id": LIBRARY["Aurora"], "ppwr_role": "manufacturer",
         "components": [part("body", "plastic", "PET", 20, colour="transparent", **alpla),
                        part("label", "plastic", "PP", 1)]},
        {"sku_code": "AUR-2", "name": "Spring water in glass", **drink, "markets": ["AT", "GB"], "reusable": True,
         "brand_id": LIBRARY["Aurora"], "ppwr_role": "manufacturer",
         "components": [part("body", "glass", "GL71", 400, colour="transparent"),
                        part("cap", "plastic", "PE", 2, **alpla)]},
        {"sku_code": "BEL-1", "name": "Black pan tray", "packaging_format": "tray", "packaging_level": "sales",
         "use_contexts": ["food"], "food_contact": True, "markets": ["AT"], "brand_id": LIBRARY["Bellevue"],
         "ppwr_role": "importer", "reusable": False,
         "components": [part("body", "plastic", "PVC", 30, colour="carbon_black")]},
        {"sku_code": "BEL-2", "name": "Chips bag paprika", "packaging_format": "bag", "packaging_level": "sales",
         "use_contexts": ["food"], "food_contact": True, "markets": ["AT"], "brand_id": LIBRARY["Bellevue"],
         "ppwr_role": "importer", "substances": {"heavy_metals": {"status": "above_limit"}},
         "components": [part("body", "plastic", "PP", 4), part("label", "plastic", "PET", 2, **alpla)]},
        {"sku_code": "PRC-1", "name": "Large parcel", "packaging_format": "box", "packaging_level": "transport",
         "markets": ["AT"], "food_contact": False, "empty_space_ratio": 62,
         "components": [part("body", "paper", "PAP 20", 500, **alpla)]},
        {"sku_code": "PRC-2", "name": "Small parcel", "packaging_format": "box", "packaging_level": "transport",
         "markets": ["US-CA"], "food_contact": False, "empty_space_ratio": 35,
         "components": [part("body", "paper", "PAP 20", 90, **alpla)]},
    ]  # fmt: skip


VOLUMES = {
    "AUR-1": [("AT", 2025, 0, 700_000), ("AT", 2026, 0, 1_000_000), ("GB", 2026, 1, 400_000), ("GB", 2026, 2, 100_000)],
    "AUR-2": [("AT", 2026, 0, 200_000), ("GB", 2026, 1, 50_000), ("GB", 2026, 2, 70_000)],
    "BEL-1": [("AT", 2025, 0, 50_000), ("AT", 2026, 0, 80_000)],
    "BEL-2": [("AT", 2026, 0, 3_000_000)],
    "PRC-1": [("AT", 2026, 0, 10_000)],
    "PRC-2": [("US-CA", 2026, 0, 20_000)],
}


def every_item() -> dict[str, dict[str, Any]]:
    """All items with parts of the company, those of the other questions too, by their codes."""
    return {item["sku_code"]: item for item in (*company.items("cap", "prerhone"), *items())}


def parts_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**CAP, **line} if line.get("component_id") else line for line in item["components"]]


def placed(market: str, year: int, half: int = 0) -> dict[str, int]:
    """Units of each item that were placed on a market in a year, or in a half of one that is held by halves."""
    units = dict[str, int]()
    for code, rows in {**company.VOLUMES, **VOLUMES}.items():
        for place, of_year, of_half, number in rows:
            if (place, of_year) == (market, year) and half in (0, of_half):
                units[code] = units.get(code, 0) + number
    return units


def tonnes(units: dict[str, int], **wanted: object) -> float:
    """Tonnes of the parts that have these values, of the items with units."""
    grams = sum(
        Decimal(str(line["weight_g"])) * number
        for code, number in units.items()
        for line in parts_of(every_item()[code])
        if all(line.get(name) == value for name, value in wanted.items())
    )
    return round(float(grams) / 1e6, 6)


def of_items(units: dict[str, int], **wanted: object) -> dict[str, int]:
    """Those units that are of items with these values."""
    return {
        code: number
        for code, number in units.items()
        if all(every_item()[code].get(name) == value for name, value in wanted.items())
    }


async def filled(assistant: Assistant, clock: StoppedClock) -> None:
    """Write the company of the other questions, and this part of it."""
    await company.filled(assistant, clock)
    service, company_id = assistant.service, assistant.company
    ada = Origin("user", str(uuid4()), "Ada Lovelace", str(uuid4()))
    with service.writes.company(company_id) as conn:
        for name in LIBRARY:
            kind = "supplier" if name == ALPLA else "brand"
            LIBRARY[name] = str(library.add(conn, kind, company_id, uuid4(), values={"name": name}, at=NOW)["id"])
        label = {"code": "LBL-1", "name": "Paper label", "component_type": "label", "material_family": "paper"}
        library.add(
            conn, "library_component", company_id, uuid4(), values={**label, "supplier_id": LIBRARY[ALPLA]}, at=NOW
        )
    company.write(assistant, items(), ada, NOW)
    for code, rows in VOLUMES.items():
        company.place_units(assistant, code, rows)
    company.write(assistant, [{"sku_code": "PRC-2", "name": "Small parcel", "brand_id": LIBRARY["Bellevue"]}], ada, NOW)
    actor = Actor(company_id, ada, NOW)
    with service.writes.company(company_id) as conn:
        water = skus.id_of(conn, "AUR-1")
        days = (date(2026, 5, 4), date(2028, 5, 3))
        report = File(uuid4(), "report.pdf", "application/pdf", 10, "0" * 64, "test_report", "TR-7", "TÜV", *days)
        files.add(conn, company_id, UUID(str(water)), report, at=NOW)
        request, _ = operations.create_request(conn, actor, sku_code="AUR-1", supplier_name=ALPLA)
        answer = {"component_id": str(request.component_ids[0]), "recycled_content_percent": 40}
        operations.submit(conn, actor, request.id, {"components": [answer]}, rulesets=service.rulesets)
        proposal = {"changes": {"name": "Chips bag", "brand_id": LIBRARY["Aurora"]}}
        entry = entries.file(conn, actor, "sku_update", proposal, sku_id=skus.id_of(conn, "BEL-2"))
        decide.reject(conn, actor, entry.id, rulesets=service.rulesets, reason="The name is right")
    portfolios.counted(company.caller_of(assistant))
    portfolios.weighed(company.caller_of(assistant))
