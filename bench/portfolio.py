"""Generates portfolios, SKUs of five components and eight volume rows each, and loads them without the service.

Snapshots, rollups and regrades are measured on them. They are made from a seed and graded by the release's rules; large
ones are stored in `.cache` beside this file. A smaller portfolio is the beginning of a larger one.
"""

import csv
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import orjson
import psycopg

from bench.data import CACHE
from compliance import ruleset
from compliance.grading import GRADED_INPUTS, grade_many
from pipelines.writing.json_fields import total_weight_g

BLOCK: Final = 10_000
_CACHED_FROM: Final = 10_000
_MARKETS: Final = ("AT", "BE", "DE", "ES", "FR", "IT", "NL", "PT")
KNOWN_BODIES: Final = (
    ("plastic", "PET", "bottle"),
    ("plastic", "HDPE", "bottle"),
    ("plastic", "PP", "tray"),
    ("plastic", "LDPE", "bag"),
    ("plastic", "PS", "cup"),
    ("paper", "PAP 21", "box"),
    ("glass", "GL 70", "jar"),
    ("metal", "aluminium", "can"),
    ("composite", "PET/PE", "pouch"),
)
_BODIES: Final = (*KNOWN_BODIES, ("plastic", None, "tub"))
_LEVELS: Final = ("sales", "sales", "sales", "sales", "grouped", "transport", "e_commerce", None)
_CONTEXTS: Final = (None, "{food}", "{food,takeaway}", "{beverage}", "{cosmetics}", "{household}", "{industrial}")
_GRADES: Final = ("recyclability_grade", "recyclability_score", "grade_provisional")
_TYPES: Final = {
    "sku_code": "text",
    "name": "text",
    "material": "text",
    "material_subtype": "text",
    "weight_grams": "float8",
    "food_contact": "boolean",
    "svhc": "json",
    "markets": "text[]",
    "packaging_level": "text",
    "packaging_format": "text",
    "reusable": "boolean",
    "use_contexts": "text[]",
    "components": "json",
    "volumes": "json",
    "components_weight_g": "float8",
    "recyclability_grade": "text",
    "recyclability_score": "float8",
    "grade_provisional": "boolean",
    "ruleset_version": "text",
}
_COPIED: Final = ", ".join(_TYPES)
_STORE: Final = f"""
INSERT INTO skus (id, company_id, version, transaction_id, created_at, updated_at, {_COPIED})
SELECT gen_random_uuid(), %(company)s, 1, %(transaction)s, now(), now(), {_COPIED} FROM generated
"""


def load(owner_url: str, company_id: UUID, count: int, *, seed: int = 1) -> None:
    """Load a portfolio into a company without rows; statistics of the table stay as they were."""
    with psycopg.connect(owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(company_id)])
        declared = ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
        owner.execute(f"CREATE TEMPORARY TABLE generated ({declared}) ON COMMIT DROP")
        with (
            owner.cursor().copy(f"COPY generated ({_COPIED}) FROM STDIN (FORMAT csv)") as copy,
            csv_file(count, seed=seed).open("rb") as file,
        ):
            while block := file.read(2**20):
                copy.write(block)
        owner.execute(_STORE, {"company": company_id, "transaction": uuid4()})
        owner.execute("UPDATE company_counters SET skus = skus + %s WHERE company_id = %s", [count, company_id])


def csv_file(count: int, *, seed: int = 1) -> Path:
    """Write the rows as CSV in the order of the loaded columns."""
    path = CACHE / f"portfolio-{seed}-{count if count >= _CACHED_FROM else 'small'}.csv"
    if count < _CACHED_FROM or not path.exists():
        CACHE.mkdir(exist_ok=True)
        draft = path.with_suffix(f".{time.monotonic_ns()}")
        with draft.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows(count, seed=seed))
        draft.replace(path)
    return path


def rows(count: int, *, seed: int = 1) -> Iterator[list[Any]]:
    """Yield the SKUs in stored columns, block by block, each block from a seed of its own."""
    rules = ruleset.load()
    for start in range(0, count, BLOCK):
        rng = random.Random(f"{seed}/{start}")
        block = [_sku(rng, number) for number in range(start, min(start + BLOCK, count))]
        answers = grade_many([tuple(sku[name] for name in GRADED_INPUTS) for sku in block], rules)
        for sku, answer in zip(block, answers, strict=True):
            graded = sku | dict(zip(_GRADES, answer, strict=True)) | {"ruleset_version": rules.version}
            yield [graded[name] for name in _TYPES]


def _sku(rng: random.Random, number: int) -> dict[str, Any]:
    material, polymer, form = rng.choice(_BODIES)
    graph = _graph(rng, material, polymer) if rng.random() < 0.98 else None
    return {
        "sku_code": f"P-{number:07d}",
        "name": f"{form} {number}",
        "material": material,
        "material_subtype": polymer,
        "weight_grams": None if rng.random() < 0.7 else round(rng.uniform(5, 60), 2),
        "food_contact": rng.choice((True, False, None)),
        "svhc": None,
        "markets": f"{{{','.join(sorted(rng.sample((*_MARKETS, 'GB', 'US-CA'), rng.randint(1, 5))))}}}",
        "packaging_level": rng.choice(_LEVELS),
        "packaging_format": form,
        "reusable": rng.choice((True, False, False)),
        "use_contexts": rng.choice(_CONTEXTS),
        "components": graph,
        "volumes": _volumes(rng),
        "components_weight_g": total_weight_g(graph),
    }


def _graph(rng: random.Random, material: str, polymer: str | None) -> str:
    """Return a body, a cap, a label, an adhesive and a seal; one body in fifty lacks its weight."""
    body: dict[str, Any] = {
        "component_type": "body",
        "material_family": material,
        "polymer_or_grade": polymer,
        "weight_g": None if rng.random() < 0.02 else round(rng.uniform(8, 60), 3),
    }
    lines: tuple[dict[str, Any], ...] = (
        body,
        {
            "component_type": "cap",
            "material_family": "plastic",
            "polymer_or_grade": rng.choice(("HDPE", "PP")),
            "weight_g": round(rng.uniform(1, 4), 3),
            "separable": True,
        },
        {
            "component_type": "label",
            "material_family": rng.choice(("paper", "plastic")),
            "polymer_or_grade": "PP",
            "weight_g": round(rng.uniform(0.2, 2), 3),
            "coverage_percent": float(rng.randint(10, 90)),
        },
        {"component_type": "adhesive", "material_family": "other", "adhesive_type": "washable"},
        {
            "component_type": "seal",
            "material_family": "metal",
            "polymer_or_grade": "aluminium",
            "weight_g": round(rng.uniform(0.1, 0.5), 3),
        },
    )
    graph = []
    for line in lines:
        given = {name: value for name, value in line.items() if value is not None}
        graph.append({"id": str(UUID(int=rng.getrandbits(128))), **given})
    return orjson.dumps(graph).decode()


def _volumes(rng: random.Random) -> str:
    """Return volumes of 2026 in five markets, of 2025 in one, and of both halves in GB."""
    keys = [f"{market}/2026/0" for market in rng.sample(_MARKETS, 5)]
    keys += [f"{rng.choice(_MARKETS)}/2025/0", "GB/2026/1", "GB/2026/2"]
    return orjson.dumps({key: rng.randrange(100, 200_000) for key in sorted(keys)}).decode()
