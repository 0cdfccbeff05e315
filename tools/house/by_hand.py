"""What the tool edits by text after the moves: small edits, the README's map, drawings of folders, bare file names."""

from words import *

HANDS = [
    ("services/operate.py", "where your process manager starts the programs.", "where a process manager starts programs."),
    ("services/skus/write.py", "Write validated records (`schemas.skus.inputs.parse_sku`) in the caller's transaction; return an outcome for each.", "Write records of `schemas.skus.inputs.parse_sku` in the caller's transaction; return an outcome for each."),
    ("services/skus/write.py", "Write validated rows (`schemas.skus.inputs.parse_volumes`) of a stored SKU, in a session that has its company set.", "Write rows of `schemas.skus.inputs.parse_volumes` of a stored SKU, in a session that has its company set."),
    ("api/operate/commands.py", "start the whole service, and migrate its database; `api.operate.serve` supervises it.", "start the service, and migrate its database; `api.operate.serve` supervises it."),
    ("pipelines/engine/celery_app.py", "Configures this service's Celery workers: `celery -A", "Configures our Celery workers: `celery -A"),
    ("tools/settings_page.py", "This page is written by `python -m tools.settings_page` from `warehouse/operate/settings.py`, and a test holds\nit equal.", "`python -m tools.settings_page` writes it from `warehouse/operate/settings.py`, and a test\nholds it equal."),
    ("warehouse/operate/otlp.py", "`warehouse.operate.tracing` alone imports this, where it is on.", "`warehouse.operate.tracing` alone imports it."),
    ("schemas/words.py", "for table, meaning, word in entries:", "for table, meaning, text in entries:"),
    ("schemas/words.py", "known.setdefault(fold(word), meaning)", "known.setdefault(fold(text), meaning)"),
    ("schemas/words.py", "“{word}” stands for both", "“{text}” stands for both"),
    ("warehouse/operate/embedded/upgrade.py", "for socket in lock.parent.glob", "for path in lock.parent.glob"),
    ("warehouse/operate/embedded/upgrade.py", "        socket.unlink()\n    lock.unlink()", "        path.unlink()\n    lock.unlink()"),
    ("tests/schemas/test_types.py", "have the fields of the tables and of the published models.", "have the fields of tables and published models."),
    ("warehouse/operate/embedded/clusters.py", 'brings Postgres {account_embedded.MAJOR}, "\n            "which cannot', 'brings Postgres "\n            f"{account_embedded.MAJOR}, "\n            "which cannot'),
    ("tests/services/test_typeset.py", "drafts.content.Lang", "drafts.Lang"),
    ("tests/pipelines/test_checks.py", 'broken.setattr(snapshots, "publish", publish_damaged)', 'broken.setattr(publish, "publish", publish_damaged)'),
    ("tests/connector/oauth/test_documents.py", "    async def described(client_id: str, at: Any) -> Any:", "    whole = clients.fetch_client\n\n    async def described(client_id: str, at: Any) -> Any:"),
    ("tests/connector/oauth/test_documents.py", "return await clients.fetch_client(client_id, at, fetched)", "return await whole(client_id, at, fetched)"),
    ("services/imports/workbook.py", '_HERE: Final = Path(__file__).parents[2] / "pipelines" / "imports" / "template"', "_HERE: Final = Path(__file__).parent"),
    ("docs/grading.md", "`compliance/grading/questions.py`, `languages.py`", "`compliance/grading/questions.py`"),
    ("pipelines/reading/workbook/sheets.py", "`workbook_tables.py`", "`upload.py`"),
    ("schemas/json_values.py", "\n`schemas/responses/`, `warehouse", "\nthe answers of `schemas`, `warehouse"),
    ("tests/schemas/test_messages.py", '("pages.py", "languages.py")', '("pages.py", "questions.py")'),
    ("pyproject.toml", 'extend-exclude = ["tools/house"]  # goes with the house that it builds\n', ""),
    ("pyproject.toml", '"tools/clients/", "tools/house/"]', '"tools/clients/"]'),
]
"""New path, text, text instead. A text that is not there is told at the end."""

MAP = """Where to look first: a path is a room, a subject and a role, and the subject has the same word in every room.

| Part of a path | Says |
|---|---|
| room | what kind of work: `schemas` shapes, `compliance` law, `warehouse` tables and SQL, `pipelines` what a run does, `services` what a door asks for, `connector` assistants, `api` REST, pages, commands |
| subject | skus, imports, exports, files, library, suppliers, review, conformity, filings, figures, catalogue, rules, changes, audit, accounts, companies, assistants, operate |
| role | in `api/<subject>/`: `routes.py`, `pages.py`, `commands.py`, `<page>.html`, `texts/`; in `connector/tools/` and `pipelines/defs/`: `<subject>.py` |
| beside the subjects | `pipelines/reading` (table files), `readers` (processes that read them), `writing` (one write), `engine` (Dagster); `api/http`, `pages`, `openapi`, `staff`, `reference`; tables of `compliance/rules/<version>/` |
| elsewhere | tests by room `tests/<room>/`; promises `tests/contract/promises.csv`; settings `docs/settings.md`; why so `docs/decisions/`; the contract `docs/spec/`; clients `tools/clients/` |
"""
"""The README's *where to look*: the rule."""


def hand(path: str, text: str) -> str:
    for place, one, other in HANDS:
        if place == path:
            if one not in text:
                say(f"not applied, {path} has no {one[:70]!r}")
            text = text.replace(one, other)
    return text


def read_me(text: str) -> str:
    """Put the rule in the place of the list of questions."""
    start = text.find("Where to look first:")
    if start < 0:
        say("not applied, README.md has no 'Where to look first:'")
        return text
    end = re.compile(r"\n\n(?!\|)", re.MULTILINE).search(text, text.find("\n|", start))
    return text[:start] + MAP.rstrip() + text[end.start() if end else len(text) :]


ENTRY = re.compile(r"^    (\w+\.py) +(\S.*(?:\n {8,}\S.*)*)\n", re.MULTILINE)


def drawing(text: str, old: str, plan: Plan) -> str:
    """Draw a package's folder as it is now, in its docstring."""
    entries = list(ENTRY.finditer(text))
    if len(entries) < 2 or not old.endswith("__init__.py"):
        return text
    here, new = Path(old).parent, plan.new.get(old, old)
    where = {m[1]: plan.new.get(str(here / m[1]), str(here / m[1])) for m in entries}
    if all(place == str(here / name) for name, place in where.items()) and new == old:
        return text
    says: dict[str, list[str]] = {}
    if new.endswith("__init__.py"):
        for m in entries:
            place = Path(where[m[1]])
            if place.parent == Path(new).parent and place.name != "__init__.py":
                says.setdefault(place.name, []).append(" ".join(m[2].split()))
    width = max((len(name) for name in says), default=0) + 3
    rows = []
    for name, parts in says.items():
        row = f"    {name.ljust(width)}"
        for word in "; ".join(parts).split():
            if len(row) + len(word) > 119:
                rows.append(row.rstrip())
                row = " " * (4 + width)
            row += word + " "
        rows.append(row.rstrip())
    first, last = entries[0].start(), entries[-1].end()
    between = re.sub(r"\n{3,}", "\n\n", text[:first] + "".join(f"{r}\n" for r in rows) + text[last:])
    return between


BARE = re.compile(r"(?<![\w/.-])(\w+\.py)\b(?!/)")
KNOWN: dict[str, set[str]] = defaultdict(set)
BESIDE: dict[str, set[str]] = defaultdict(set)


def bare(text: str, old: str, plan: Plan) -> str:
    """File names without a folder, in comments and documents: of a sibling, or the only one of that name."""
    if ".py" not in text:
        return text
    if not KNOWN:
        for path in plan.python:
            BESIDE[str(Path(path).parent)].add(Path(path).name)
            if path.split("/")[0] in ROOMS:
                KNOWN[Path(path).name].add(path)
    folder = str(Path(old).parent)
    new_folder = str(Path(plan.new.get(old, old)).parent)

    def change(m: re.Match[str]) -> str:
        sibling = f"{folder}/{m[1]}"
        if sibling in plan.new:
            place = plan.new[sibling]
        elif m[1] in BESIDE[folder] or len(KNOWN[m[1]]) != 1:
            return m[1]
        else:
            place = plan.new.get(next(iter(KNOWN[m[1]])), "")
            if not place or old.endswith(".py"):
                return m[1]
        return Path(place).name if str(Path(place).parent) == new_folder else place

    return BARE.sub(change, text)
