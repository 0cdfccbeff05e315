"""What a record says is text in the Dagster UI: hostile cells in every field, and a walk over all that runs show."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg
import psycopg

from pipelines.commands import publish_company
from schemas.fields import COMPONENT, SKU
from tests.pipelines.conftest import Desk, Workbook

HOSTILE = "![](/graphql?query=mutation{wipeAssets(a:1)})<img src=//h.example>[a](//h.example)"
MARK = re.compile("wipeAssets|h\\.example")
PICTURE = re.compile(r"!\[[A-Za-z0-9 ,]+\]\(data:image/svg\+xml;base64,[A-Za-z0-9+/=]+\)")
"""The one Markdown value there may be: drawn by us, with nothing in it that a Markdown reader could take for more."""
FOLLOWED = (dg.UrlMetadataValue, dg.NotebookMetadataValue, dg.PathMetadataValue)
"""What the UI makes a link of, or opens."""
MINIMUM = {"sku_code": "S-{}", "name": "Item", "annual_volume_fr_2026": "10"}


def walk(value: object, seen: set[int]) -> Iterator[object]:
    """Every object that hangs on an event: its data, their metadata, descriptions and errors."""
    if id(value) in seen:
        return
    seen.add(id(value))
    yield value
    names = {name for kind in type(value).__mro__ for name in getattr(kind, "__annotations__", {})}
    if names:  # Dagster's records and named tuples, some of which refuse to be iterated over
        parts = [getattr(value, name, None) for name in sorted(names)]
    elif isinstance(value, Mapping):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    else:
        parts = list(getattr(value, "__dict__", {}).values())
    for part in parts:
        yield from walk(part, seen)


def shown(instance: dg.DagsterInstance) -> list[object]:
    events = [entry.dagster_event for run in instance.get_runs() for entry in instance.all_logs(run.run_id)]
    seen: set[int] = set()
    return [part for event in events if event is not None for part in walk(event, seen)]


def hostile_book(workbook: Workbook) -> bytes:
    """A row per field of a SKU and per field of a part, with a hostile cell there; and rows that are well."""
    fields = [*dict.fromkeys([*MINIMUM, *SKU])]
    rows = [
        [HOSTILE if name == field else MINIMUM.get(name, "").format(number) for name in fields]
        for number, field in enumerate(fields)
    ]
    parts = ["sku_code", *(name for name in COMPONENT if name != "sku_code")]
    minimum = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": "20"}
    lines = [
        ["S-90", *(HOSTILE if name == field else minimum.get(name, "") for name in parts[1:])] for field in parts[1:]
    ]
    well = [MINIMUM.get(name, "").format(90) for name in fields]
    return workbook(main=[fields, *rows, well], components=[parts, *lines])


def test_no_text_of_a_record_is_markdown_or_a_link_in_any_run(desk: Desk, workbook: Workbook) -> None:
    with psycopg.connect(desk.database.owner_url) as owner:
        owner.execute("UPDATE companies SET name = %s WHERE id = %s", (HOSTILE, desk.company))
    name = HOSTILE.replace("/", "_")
    header = ",".join([*MINIMUM, "description", "material_category", "markets", "gtin"])
    flat = "\n".join(
        [
            header,
            *(
                f'F-{n},"{HOSTILE}",10,"{HOSTILE}",{cells}'
                for n, cells in enumerate((",,", f'"{HOSTILE}",,', f',"{HOSTILE}",', f',,"{HOSTILE}"'))
            ),
        ]
    )
    desk.run(desk.send(flat, filename=f"{name}.csv"))
    desk.run(desk.send(hostile_book(workbook), filename=f"{name}.xlsx"))
    assert publish_company(desk.resources, desk.instance, desk.company) is not None
    found = shown(desk.instance)
    texts = [part for part in found if isinstance(part, str) and MARK.search(part)]
    assert any(HOSTILE in text for text in texts), "the cells came as far as the runs"
    values = [part for part in found if isinstance(part, dg.MetadataValue)]
    markdown = [value for value in values if isinstance(value, dg.MarkdownMetadataValue)]
    assert markdown
    assert [value for value in markdown if not PICTURE.fullmatch(str(value.value))] == []
    assert [value for value in values if isinstance(value, FOLLOWED)] == []
    described: list[Any] = [part for part in found if getattr(part, "description", None)]
    assert [part for part in described if MARK.search(str(part.description))] == [], "a description is Markdown, too"
