"""The demo company: something to try the service on at once, made at the first start and found again at every other.

Its key and its person's password lie in `demo.json` of the data directory, readable by the service's own account alone;
they are the only ones kept anywhere, because losing them would leave a newcomer with nothing to try.
"""

import contextlib
import os
import secrets
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import orjson

from api.commands.key import issue_key
from api.commands.library import added
from api.commands.operator import Operator, at, new_id
from api.commands.shared import Refusal
from api.commands.user import add_user
from warehouse.clock import Clock
from warehouse.database import Database
from warehouse.queries import companies, keys, users
from warehouse.sessions import Pool
from warehouse.settings import Settings

_NAME: Final = "Demo Foods"
_PLAN: Final = "enterprise"
_EMAIL: Final = "demo@brand.example"
_RECORDS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("brand", {"name": "Alpine Spring", "owner_name": "Demo Foods SAS"}),
    ("brand", {"name": "Petit Verger", "owner_name": "Demo Foods SAS"}),
    ("site", {"name": "Lyon", "roles": ["manufacturing", "packing"], "country": "FR", "city": "Lyon"}),
    ("site", {"name": "Freiburg", "roles": ["packing"], "country": "DE", "city": "Freiburg"}),
    ("supplier", {"name": "Préformes du Rhône", "email": "quality@preformes.example", "country": "FR"}),
    ("supplier", {"name": "Etiketten Baden", "email": "qs@etiketten.example", "country": "DE"}),
    ("library_component", {
        "code": "CAP-HDPE-28", "name": "28 mm screw cap", "component_type": "cap", "material_family": "plastic",
        "polymer_or_grade": "HDPE", "weight_g": 1.9, "colour": "natural", "recycled_content_percent": 0.0,
    }),
    ("library_component", {
        "code": "PREFORM-PET-24", "name": "24 g bottle body", "component_type": "body", "material_family": "plastic",
        "polymer_or_grade": "PET", "weight_g": 24.0, "colour": "transparent", "recycled_content_percent": 30.0,
    }),
    ("library_component", {
        "code": "LABEL-PP-50", "name": "50 µm wrap-around label", "component_type": "label",
        "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 0.6, "colour": "light",
        "recycled_content_percent": None,
    }),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo company, its key, and how its person signs in."""

    company_id: str
    client_id: str
    api_key: str
    email: str
    password: str


def prepare(settings: Settings, database: Database) -> Demo:
    """The demo company of a data directory, made as far as it is not there; call it inside `running`, migrated.

    The file comes first and the key last: whatever a crash leaves undone, the next start does.
    """
    path = settings.data_dir / "demo.json"
    demo = _kept(path)
    with Pool(database.app_url, clock=Clock.of(settings)) as pool:
        we = at(settings, database, pool)
        with we.owner() as connection:
            made = keys.company_of(connection, UUID(demo.client_id)) is not None
            has_person = users.company_of(connection, demo.email) is not None
        if not made:
            _make(we, demo)
        if not has_person:
            add_user(we, UUID(demo.company_id), user_id=new_id(), email=demo.email, password=demo.password)
    return demo


def _kept(path: Path) -> Demo:
    """What the file says; a new one is written whole or not at all, for the service's account alone.

    One from before there were people gets a person.
    """
    held = orjson.loads(path.read_bytes()) if path.exists() else {}
    if "password" in held:
        return Demo(**held)
    new = {"company_id": str(new_id()), "client_id": str(new_id()), "api_key": keys.new_key()}
    demo = Demo(**(new | held), email=_EMAIL, password=secrets.token_urlsafe(12))
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(orjson.dumps(demo))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    return demo


def _make(we: Operator, demo: Demo) -> None:
    company_id = UUID(demo.company_id)
    with we.owner(company_id) as connection:
        if companies.of(connection, company_id) is None:
            companies.add(connection, company_id, name=_NAME, plan=_PLAN, at=we.clock.now())
            we.enter(connection, company_id, "company.created", company_id, after={"name": _NAME, "plan": _PLAN})
    for resource, values in _RECORDS:
        with contextlib.suppress(Refusal):  # held already, from a start that did not come to its end
            added(we, resource, company_id, values)
    issue_key(we, company_id, name="demo", scopes=["read", "write"], client_id=UUID(demo.client_id), key=demo.api_key)


def banner(settings: Settings, demo: Demo, *, first_start: bool, with_dagster_ui: bool) -> str:
    """What a newcomer tries next: import a file, poll it, read a graded SKU. The key is shown once."""
    base = settings.base_url
    kept = shlex.quote(str(settings.data_dir / "demo.json"))
    key = f"KEY={demo.api_key}" if first_start else f"KEY=$(grep -o 'svc_[A-Za-z0-9_-]*' {kept})"
    lines = [
        f"The service answers at {base}. There is a demo company, {_NAME}, with a key:",
        "",
        f"  {key}",
        "  # import a file: 40 SKUs with components, and some bad rows",
        f'  curl -s -H "X-API-Key: $KEY" -F file=@examples/portfolio.xlsx {base}/api/v1/imports',
        "  # poll it: put the answer's id in the place of ID",
        f'  curl -s -H "X-API-Key: $KEY" {base}/api/v1/imports/ID',
        "  # the SKUs with their grades, and one of them with why it is graded so",
        f'  curl -s -H "X-API-Key: $KEY" {base}/api/v1/skus',
        f'  curl -s -H "X-API-Key: $KEY" {base}/api/v1/skus/ID',
        "",
        f"People sign in at {base}/sign-in as {demo.email}, {_password(demo, kept, first_start=first_start)}.",
        f"Assistants connect to {base}/api/mcp.",
        f"Reference: {base}/reference",
    ]
    if with_dagster_ui:
        lines.append(f"Every import as a run: http://{settings.host}:{settings.dagster_port}")
    return "\n".join(lines)


def _password(demo: Demo, kept: str, *, first_start: bool) -> str:
    """The password, shown once as the key is; afterwards where it is kept."""
    return f"password {demo.password}" if first_start else f"password as {kept} has it"
