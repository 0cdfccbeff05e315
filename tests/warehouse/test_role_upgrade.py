"""People from before there were roles, after the migration that gives each one, and back."""

from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from warehouse import migrations
from warehouse.embedded import running
from warehouse.migrate import migrate
from warehouse.settings import Settings


def test_the_first_live_person_of_each_company_becomes_its_administrator(open_dir: Path):
    ended, first, second, other = (uuid4() for _ in range(4))
    here, there = uuid4(), uuid4()
    people = [(ended, here, 1, datetime(2026, 9, 1, tzinfo=UTC)), (first, here, 2, None), (second, here, 3, None)]
    with running(Settings.load(data_dir=open_dir), durable=False) as database:
        migrate(database)
        config = Config()
        config.set_main_option("script_location", str(Path(next(iter(migrations.__path__)))))
        engine = create_engine(make_url(database.owner_url).set(drivername="postgresql+psycopg"))
        with engine.connect() as config.attributes["connection"]:
            command.downgrade(config, "0029")
        with psycopg.connect(database.owner_url) as owner:
            for person, company, day, until in [*people, (other, there, 4, None)]:
                owner.execute(
                    "INSERT INTO users (id, company_id, email, password_hash, created_at, disabled_at) "
                    "VALUES (%s, %s, %s, '-', %s, %s)",
                    [person, company, f"{person}@brand.example", datetime(2026, 8, day, tzinfo=UTC), until],
                )
        with engine.connect() as config.attributes["connection"]:
            command.upgrade(config, "0030")
        engine.dispose()
        with psycopg.connect(database.owner_url) as owner:
            found = dict(owner.execute("SELECT id, role FROM users").fetchall())
    assert found == {ended: "approver", first: "administrator", second: "approver", other: "administrator"}
