"""Nothing lost: worker, API and Postgres are killed while an import runs, and it ends as if nothing had happened.

Whenever a random number of rows is committed, one of them is killed.
"""

import random
import time

from tests.journeys.place import Place
from tests.waiting import wait_until

ROWS = 5_000
VICTIMS = ("worker", "worker", "postgres", "postgres", "api")


def portfolio(name: str) -> bytes:
    rows = (f"S{number:05},{name} {number},plastic,{number % 90}.5" for number in range(ROWS))
    return "\n".join(["sku_code,name,material,weight_grams", *rows]).encode()


def import_under_fire(place: Place, content: bytes, chance: random.Random) -> dict[str, object]:
    """Send a file, kill someone each time that a random number of rows is reached, and wait for the end."""
    accepted = place.call("POST", "/api/v1/imports?filename=portfolio.csv", content=content)
    victims = chance.sample(VICTIMS, len(VICTIMS))
    for threshold, victim in zip(sorted(chance.sample(range(ROWS), len(VICTIMS))), victims, strict=True):
        wait_until(
            lambda threshold=threshold: (
                place.one(
                    "SELECT max(id::text), sum(rows_done) FROM imports "
                    f"WHERE id = '{accepted['id']}' AND rows_done >= {threshold}"
                )[1]
                is not None
            )
        )
        time.sleep(chance.uniform(0, 0.03))  # anywhere within a chunk
        place.kill(victim)
    wait_until(lambda: place.call("GET", str(accepted["poll_url"]))["status"] in ("completed", "failed"))
    return place.call("GET", str(accepted["poll_url"]))


def test_an_import_survives_every_kill(place: Place) -> None:
    place.start_and_wait("api", "worker")
    chance = random.Random(20261121)
    first = import_under_fire(place, portfolio("Bottle"), chance)
    assert first["status"] == "completed"
    assert first["counts"] == {"total": ROWS, "created": ROWS, "updated": 0, "unchanged": 0, "rejected": 0}
    second = import_under_fire(place, portfolio("Jar"), chance)
    assert second["counts"] == {"total": ROWS, "created": 0, "updated": ROWS, "unchanged": 0, "rejected": 0}
    assert place.one("SELECT count(*), count(DISTINCT sku_code), min(version), max(version) FROM skus") == (
        ROWS,
        ROWS,
        2,
        2,
    )
    assert place.one("SELECT count(*), count(DISTINCT id) FROM sku_versions") == (ROWS, ROWS)
    for action, number in {
        "sku.created": ROWS,
        "sku.updated": ROWS,
        "import.submitted": 2,
        "import.completed": 2,
    }.items():
        counted = "SELECT count(*), count(DISTINCT resource_id) FROM audit_entries WHERE action = "
        assert place.one(f"{counted}'{action}'") == (number, number)
    assert place.one("SELECT skus FROM company_counters") == (ROWS,)
