"""What pipelines give the Dagster UI, read by a test: no text of a record becomes Markdown there, no run reads a path.

`tests/pipelines/test_hostile_cells.py` sends such records; this finds the line that would let the next one through.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from pipelines.definitions import defs

ROOT = Path(__file__).parents[2]
RENDERED = {"md", "url", "notebook", "path"}
CLASSES = {"MarkdownMetadataValue", "UrlMetadataValue", "NotebookMetadataValue", "PathMetadataValue"}
DRAWS = ("pipelines/metadata/tables.py", "bars")
"""The one place that makes Markdown: a picture of its own, and no text."""
FACTORY = ("pipelines/checks/factory.py", "specs_of")
"""Makes checks while definitions load, each with the description that its module wrote."""
PATHS = {"file": "jurisdiction_catalogue"}
"""Settings of a run that name a file, with the asset that takes it: each is confined to a folder by its step."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / "pipelines").rglob("*.py")):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def functions_of(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Each node with the name of the function that it stands in, empty for the module's own."""
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        name, node = pending.pop()
        yield name, node
        inner = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else name
        pending += [(inner, child) for child in ast.iter_child_nodes(node)]


def test_markdown_and_links_are_made_in_one_place_that_takes_no_text():
    found = []
    for file, tree in trees():
        for function, node in functions_of(tree):
            if isinstance(node, ast.Call) and isinstance(made := node.func, ast.Attribute):
                of_value = isinstance(made.value, ast.Attribute) and made.value.attr == "MetadataValue"
                if (of_value and made.attr in RENDERED) or made.attr in CLASSES:
                    found.append((file, function))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CLASSES:
                found.append((file, function))
    assert found == [DRAWS]


def test_a_description_is_written_by_us_and_not_made_when_something_runs():
    """The UI takes descriptions of assets, checks, jobs, columns and events for Markdown. A docstring is ours."""
    made = [
        (file, keyword.value.lineno)
        for file, tree in trees()
        if file.startswith(("pipelines/checks/", "pipelines/defs/", "pipelines/engine/", "pipelines/metadata/"))
        for function, node in functions_of(tree)
        if function and (file, function) != FACTORY and isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "description"
        and not isinstance(keyword.value, ast.Constant)
        and ast.unparse(keyword.value) != "function.__doc__"
        and ast.unparse(node.func) != "argparse.ArgumentParser"
    ]
    assert made == []


def test_no_configuration_of_a_run_names_a_file_that_is_not_confined():
    suspicious = ("file", "path", "dir", "folder", "url", "uri")
    named = {}
    for job in defs.resolve_all_job_defs():
        for node in job.graph.iterate_op_defs() if hasattr(job.graph, "iterate_op_defs") else job.all_node_defs:
            schema = getattr(node.config_schema, "config_type", None) if node.has_config_field else None
            for field in getattr(schema, "fields", None) or {}:
                if any(word in field.lower() for word in suspicious):
                    named[field] = node.name
    assert named == PATHS


def test_a_run_can_configure_two_numbers_of_the_resources_and_nothing_else():
    """A resource's settings could name a file, too; ours come from the environment of the process."""
    assert defs.resources is not None
    plain = {name: each for name, each in defs.resources.items() if not isinstance(each, dg.ConfigurableResource)}
    assert [name for name, each in plain.items() if getattr(each.config_schema.config_type, "fields", None)] == []
    taken = {
        f"{name}.{field}": about.annotation
        for name, each in defs.resources.items()
        if name not in plain
        for field, about in type(each).model_fields.items()
    }
    assert taken == {"importing.chunk_rows": int, "retention.runs_kept_days": int}


def test_every_resource_says_what_it_is():
    assert defs.resources is not None
    configurable = [each for each in defs.resources.values() if isinstance(each, dg.ConfigurableResource)]
    plain = [each for each in defs.resources.values() if isinstance(each, dg.ResourceDefinition)]
    assert configurable
    assert plain
    assert [each for each in plain if not each.description] == []
    assert [type(each).__name__ for each in configurable if "__doc__" not in vars(type(each))] == []
    assert [
        name for each in configurable for name, about in type(each).model_fields.items() if not about.description
    ] == []
