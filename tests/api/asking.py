"""A company that asks its supplier about a bottle, and the supplier's ways to answer."""

from dataclasses import dataclass
from datetime import UTC, datetime
from random import randrange
from typing import Any
from uuid import UUID

from starlette.testclient import TestClient

from schemas.actors import Actor, Origin
from services import suppliers
from warehouse.operate.sessions import Pool

BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}
CAP = {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 2}
BOTTLE = {
    "sku_code": "BOTTLE-1",
    "name": "Bottle",
    "packaging_format": "bottle",
    "food_contact": True,
    "markets": ["FR"],
    "components": [BODY, CAP],
}
OPERATOR = Origin("operator", "root", "operator", "c-1")


@dataclass(frozen=True)
class Asked:
    """One request: its token, its components, and the browser or program of the supplier."""

    http: TestClient
    company: UUID
    sku_id: str
    id: UUID
    token: str
    components: list[str]
    address: str

    def post(self, body: Any, **more: Any) -> Any:
        headers = {"X-Forwarded-For": more.pop("address", self.address), **more.pop("headers", {})}
        sent = more or {"json": body}
        return self.http.post(f"/api/supplier-data/{self.token}", headers=headers, **sent)

    def answer(self, *components: dict[str, Any], **more: Any) -> Any:
        return self.post({"consent": True, "response": {"components": list(components), **more}})


def ask(caller: Any, pool: Pool, *, lines: list[int] | None = None, **fields: Any) -> Asked:
    """A request about the bottle of the caller's company, for these lines of its graph or all of them."""
    sku = caller.post("/skus", {**BOTTLE, **fields}).json()["data"]
    held = [UUID(line["id"]) for line in sku["components"]]
    with pool.company(caller.company) as conn:
        request, token = suppliers.create_request(
            conn,
            Actor(caller.company, OPERATOR, datetime.now(UTC)),
            sku_code=sku["sku_code"],
            component_ids=[held[n] for n in lines or ()],
            supplier_name="Préformes du Rhône",
        )
    components = [str(each) for each in request.component_ids]
    address = f"10.{randrange(256)}.{randrange(256)}.{randrange(256)}"
    return Asked(caller.http, caller.company, sku["id"], request.id, token, components, address)
