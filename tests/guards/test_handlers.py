"""A page's handler does its work itself: the framework runs a plain function in a thread, and reads a form for it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

API = Path(__file__).parents[2] / "api"
ROOMS = ("accounts", "changes", "figures", "imports", "review", "skus", "suppliers")
FILES = sorted(
    file for room in ROOMS for file in (API / room).glob("*.py") if "page" in file.stem or file.stem == "edit"
)


def _handlers(tree: ast.Module) -> Iterator[ast.AsyncFunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.AsyncFunctionDef) and "router." in " ".join(map(ast.unparse, node.decorator_list)):
            yield node


def only_hands_over(handler: ast.AsyncFunctionDef) -> bool:
    """Whether a handler reads a form at most, and leaves the rest to a function in a thread."""
    statements = [ast.unparse(each) for each in handler.body[1:]]  # behind the docstring
    rest = [each for each in statements if "await read_form(" not in each]
    return len(rest) == 1 and rest[0].startswith(("return await run_in_threadpool(", "return await run_limited("))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(API)))
def test_no_handler_of_a_page_only_hands_over_to_a_thread(file: Path) -> None:
    found = [each.name for each in _handlers(ast.parse(file.read_text(encoding="utf-8"))) if only_hands_over(each)]
    assert not found, "declare it as `def`, its form as `SentForm`"


def test_a_handler_that_only_hands_over_is_found() -> None:
    lines = (
        '@router.post("")',
        "async def post(request, session):",
        '    "It."',
        "    form = await read_form(request, session)",
        "    return await run_in_threadpool(_do, request, form)",
    )
    [handler] = _handlers(ast.parse("\n".join(lines)))
    assert only_hands_over(handler)
