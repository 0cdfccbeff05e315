"""The words of a SKU stay what they were when the function that computes them is replaced beside stored ones."""

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

from warehouse.operate.database import Database
from warehouse.operate.migrate import migrate

ROWS = [
    ("A-1", "Bottle", None, None, None, None, None, None),
    ("A-2", "BOTTLE 1 L", "4006381333931", "Plastic", "PET", "bottle", "Drinks", "[]"),
    ("Ä-3", "Größe œuvre Łódź Ærø", None, "Stahl", None, "can", "Öl", '[{"polymer_or_grade": "Weißblech"}]'),
    ("A-4", "İstanbul ΣΑΣ", None, None, "Ø", None, None, '[{"polymer_or_grade": "PET"}, {"weight_g": 2}]'),
    ("A-5", "Jar", None, "", "", None, None, '[{"polymer_or_grade": "P\\u0000T"}]'),
    ("A-6", "Cafe\u0301 \\ 'x'", None, None, None, None, "", '[{"polymer_or_grade": "a\\nB\\"C"}]'),
]
WORDS = f"SELECT pcds_sku_words({', '.join(['%s::text'] * 7)}, %s::json)"


@pytest.fixture
def before(server: Database) -> Iterator[Database]:
    name = f"pcds_words_{uuid4().hex[:8]}"
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name}")
    database = server.with_name(name)
    migrate(database, "0002")
    yield database
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


def words(database: Database, settings: str = "") -> list[object]:
    with psycopg.connect(database.owner_url) as owner:
        owner.execute(settings or "SELECT")
        return [row for values in ROWS for row in owner.execute(WORDS.replace("pcds", "public.pcds"), values)]


def test_the_words_of_0003_are_those_of_the_release_before_whatever_the_search_path(before: Database) -> None:
    stored = words(before)
    migrate(before, "0003")
    assert words(before) == stored == words(before, "SET search_path TO ''")
    assert stored[2] == ('grosse oeuvre lodz aero\na-3\nstahl\ncan\nol\n["weissblech"]',)
