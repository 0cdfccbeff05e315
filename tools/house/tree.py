"""The files of a tree, the names in each, and the plan for them."""

import argparse
import ast
import builtins
import csv
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("schemas", "compliance", "warehouse", "pipelines", "services", "connector", "api")
CODE = (*ROOMS, "tests", "tools", "bench", "examples")
PLAIN = {"queries", "tables", "routes", "pages", "commands", "store", "assets", "jobs", "ops", "sensors", "checks", "entries"}
SUBJECTS = {
    "skus": "SKUs: packaging items and what is stored of them",
    "imports": "imports: files that are sent, and what becomes of their rows",
    "exports": "exports: the whole portfolio as files",
    "files": "technical files of a SKU",
    "library": "the library: brands, sites, suppliers and shared components",
    "suppliers": "suppliers: what they are asked, and what they answer",
    "review": "the queue of what a person decides",
    "conformity": "declarations of conformity (DoC)",
    "filings": "filings: what is reported to a scheme or a register",
    "figures": "figures: snapshots, tonnes, obligations and gaps",
    "catalogue": "the catalogue of jurisdictions",
    "rules": "rule-sets, grading and regrading",
    "changes": "the feed of changes, and webhooks",
    "audit": "the audit ledger",
    "accounts": "accounts: people, keys, tokens and the sign-in",
    "companies": "companies, their plans and test companies",
    "assistants": "assistants: connections, consent and confirmations",
    "operate": "what an operator runs and watches",
    "readers": "reader processes, which read untrusted files",
    "http": "what all REST operations share: credential, limits, errors, answers",
    "openapi": "the OpenAPI document",
    "uk": "the packaging data file of the United Kingdom",
}
PROBLEMS: list[str] = []


def say(text: str) -> None:
    PROBLEMS.append(text)


def module_of(path: str) -> str:
    name = path[:-3].replace("/", ".")
    return name.removesuffix(".__init__")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def names_bound(node: ast.AST) -> set[str]:
    """The names that the statements of one scope bind, not those of scopes within."""
    out: set[str] = set()
    globals_: set[str] = set()

    def visit(n: ast.AST) -> None:
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            out.add(n.name)
            for part in n.decorator_list:
                visit(part)
            return
        if isinstance(n, ast.Lambda) or (isinstance(n, ast.AnnAssign) and n.value is None and isinstance(node, ast.ClassDef)):
            return
        if isinstance(n, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            for inner in ast.walk(n):
                if isinstance(inner, ast.NamedExpr):
                    out.add(inner.target.id)
            return
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
            out.add(n.id)
        elif isinstance(n, ast.Import | ast.ImportFrom):
            for a in n.names:
                out.add(a.asname or a.name.split(".")[0])
        elif isinstance(n, ast.ExceptHandler) and n.name:
            out.add(n.name)
        elif isinstance(n, ast.MatchAs | ast.MatchStar) and n.name:
            out.add(n.name)
        elif isinstance(n, ast.Global):
            globals_.update(n.names)
        for child in ast.iter_child_nodes(n):
            visit(child)

    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        a = node.args
        for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
            if arg:
                out.add(arg.arg)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        for g in node.generators:
            visit(g.target)
    elif isinstance(node, ast.Lambda):
        pass
    else:
        for child in getattr(node, "body", []):
            visit(child)
    return out - globals_


SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


class Source:
    """A Python file: its text, tree, uses of names with the scopes around each, and its imports."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.text = (ROOT / path).read_text(encoding="utf-8")
        self.data = self.text.encode()
        self.tree = ast.parse(self.text)
        self.starts = [0]
        for line in self.data.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.bound = names_bound(self.tree)  # at the top
        self.inner: set[str] = set()  # bound in any scope within
        self.uses: list[tuple[ast.Name, tuple[ast.AST, ...], ast.AST | None, bool]] = []
        self.imports: list[tuple[ast.ImportFrom | ast.Import, tuple[ast.AST, ...]]] = []
        self.joined: list[tuple[ast.JoinedStr, tuple[ast.AST, ...]]] = []
        self.shadow: dict[int, set[str]] = {}
        self._walk(self.tree, (), None, False)

    def span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _scope(self, node: ast.AST) -> set[str]:
        if id(node) not in self.shadow:
            self.shadow[id(node)] = names_bound(node)
            if not isinstance(node, ast.ClassDef):
                self.inner |= self.shadow[id(node)]
        return self.shadow[id(node)]

    def _walk(self, node: ast.AST, scopes: tuple[ast.AST, ...], parent: ast.AST | None, in_joined: bool) -> None:
        field = scopes and isinstance(scopes[-1], ast.ClassDef) and isinstance(getattr(node, "ctx", None), ast.Store)
        if isinstance(node, ast.Name) and not field:
            self.uses.append((node, scopes, parent, in_joined))
        if isinstance(node, ast.Import | ast.ImportFrom):
            self.imports.append((node, scopes))
        if isinstance(node, ast.JoinedStr) and not in_joined:
            self.joined.append((node, scopes))
            in_joined = True
        if isinstance(node, SCOPES):
            self._scope(node)
            within = (*scopes, node)
            outer: list[ast.AST] = []
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                a = node.args
                outer = [*node.decorator_list, *a.defaults, *(d for d in a.kw_defaults if d)]
                outer += [x.annotation for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if x and x.annotation]
                outer += [node.returns] if node.returns else []
                inside: list[ast.AST] = list(node.body)
            elif isinstance(node, ast.ClassDef):
                outer = [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
                inside = list(node.body)
            elif isinstance(node, ast.Lambda):
                outer, inside = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)], [node.body]
            else:
                inside = list(ast.iter_child_nodes(node))
            for child in outer:
                self._walk(child, scopes, node, in_joined)
            for child in inside:
                self._walk(child, within, node, in_joined)
            return
        for child in ast.iter_child_nodes(node):
            self._walk(child, scopes, node, in_joined)

    def owner(self, name: str, scopes: tuple[ast.AST, ...]) -> ast.AST | None:
        """The scope that binds a name as it is read there; None: the module or the builtins."""
        for depth, scope in enumerate(reversed(scopes)):
            if isinstance(scope, ast.ClassDef) and depth > 0:
                continue
            if name in self.shadow[id(scope)]:
                return scope
        return None


class Plan:
    """The moves of a tree as it is now: of each module the new path, of each new path the modules in order."""

    def __init__(self, only: list[str]) -> None:
        self.rows: list[tuple[str, str, str]] = []
        with (ROOT / "docs/house/moves.csv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                self.rows.append((row["old"], row["new"], row["how"]))
        tracked = git("ls-files").split("\n")
        self.files = [f for f in tracked if f and (ROOT / f).exists()]
        here = set(self.files)
        self.python = [f for f in self.files if f.endswith(".py") and f.split("/")[0] in CODE]
        self.new: dict[str, str] = {}  # old path -> new path
        self.goes: set[str] = set()
        self.order: dict[str, int] = {}
        done = 0
        for index, (old, new, how) in enumerate(self.rows):
            self.order[old] = index
            if how in ("stays", "later") or (only and not any((new or old).startswith(o) for o in only)):
                continue
            if old not in here:
                done += 1
                continue
            if how == "goes":
                self.goes.add(old)
            elif new != old or how == "folds":
                self.new[old] = new
        # an old path that stays takes part in a fold into it
        planned = {old for old, _, _ in self.rows}
        for file in self.python:
            if file.split("/")[0] in ROOMS and file not in planned:
                say(f"not in the plan, stays where it is: {file}")
        if done:
            print(f"{done} rows are done already or are of another tree")
        self.members: dict[str, list[str]] = defaultdict(list)
        for old, new in self.new.items():
            self.members[new].append(old)
        for new, olds in list(self.members.items()):
            if new in here and new not in self.new and new not in self.goes and new not in olds:
                olds.append(new)
                self.new[new] = new
        for new, olds in self.members.items():
            olds.sort(key=lambda old: (self.order.get(old, 9999), old))
