"""Applies the plan of the house (`docs/house/moves.csv`) to a tree: moves and joins modules, and rewrites what names them.

    python tools/house/move.py                       the whole plan
    python tools/house/move.py --only api/accounts   the rows whose new path begins so (repeat for several)
    python tools/house/move.py --check               sizes, imports upwards and cycles after the plan; changes nothing

It needs Python 3.11, git and `.venv/bin/ruff`, nothing else, and goes with the house that it builds. What it could not do
is printed at the end. Run again, it finds the old paths gone and does nothing. Rules:

- A package exports nothing: an `__init__` that only passes names on becomes its docstring, and who imported from it
  imports from the module that defines the name.
- Joined modules stand in the order of their imports. The docstring is the first row's.
- Of two names that collide the later row's gets its old module's word: `add` of `words` is `add_words`.
- A module is imported under its own name; where a file has that name already, as `<module>_<room or folder>`.
"""

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


class House:
    """All Python files with the plan applied in thought: where each name is afterwards, and what it is called."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.sources = {path: Source(path) for path in plan.python}
        self.module = {module_of(path): path for path in plan.python if path.split("/")[0] in CODE}
        self.passes: dict[str, dict[str, tuple[str, str]]] = {}  # of each module, what it imports by from
        for name, path in self.module.items():
            table: dict[str, tuple[str, str]] = {}
            for node, scopes in self.sources[path].imports:
                if isinstance(node, ast.ImportFrom) and not scopes and node.module:
                    for a in node.names:
                        table[a.asname or a.name] = (node.module, a.name)
            self.passes[name] = table
        self.renamed: dict[tuple[str, str], str] = {}  # (old module, symbol) -> new symbol
        self.local: dict[tuple[str, str], str] = {}  # (old module, imported name) -> name in the joined module
        self.hollow = {path for path in plan.python if path.endswith("__init__.py") and self._is_hollow(path)}
        self._rename()

    def _is_hollow(self, path: str) -> bool:
        if path.split("/")[0] not in ROOMS:
            return False
        for node in self.sources[path].tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                continue
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                continue
            return False
        return True

    def target(self, old_module: str) -> str | None:
        """The new module of an old one."""
        path = self.module[old_module]
        if path in self.plan.goes:
            return None
        return module_of(self.plan.new.get(path, path))

    def defined(self, module: str, name: str) -> bool:
        path = self.module[module]
        source = self.sources[path]
        return name in source.bound and name not in self.passes[module]

    def resolve(self, module: str, name: str) -> tuple[str, str] | None:
        """Where a name that is imported from a module is defined: (old module, name); a module: (module, "")."""
        for _ in range(8):
            passed = self.passes[module].get(name) if module in self.module else None
            if passed and passed != (module, name) and self.module[module].endswith("__init__.py"):
                if self.module[module] not in self.hollow:
                    return module, name
                module, name = passed
                continue
            if f"{module}.{name}" in self.module and not (module in self.module and self.defined(module, name)):
                return f"{module}.{name}", ""
            if module not in self.module:
                return None
            return module, name
        return None

    def symbol(self, module: str, name: str) -> tuple[str | None, str]:
        """New module and new name of a symbol of an old module."""
        if (module, name) in self.renamed:
            return self.target(module), self.renamed[module, name]
        return self.target(module), self.local.get((module, name), name)

    def word(self, path: str) -> str:
        parts = module_of(path).split(".")
        last = parts[-1]
        return parts[-2] if last in PLAIN and len(parts) > 2 else last

    def ordered(self, new: str) -> list[str]:
        """The modules of a new path, each after those that it imports."""
        olds = self.plan.members[new]
        inside = {module_of(old): old for old in olds}
        needs: dict[str, list[str]] = {old: [] for old in olds}
        for old in olds:
            for node, scopes in self.sources[old].imports:
                if isinstance(node, ast.ImportFrom) and node.module and not any(
                    isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef) for s in scopes
                ):
                    for a in node.names:
                        at = self.resolve(node.module, a.name)
                        if at and at[0] in inside and inside[at[0]] != old:
                            needs[old].append(inside[at[0]])
        out: list[str] = []

        def visit(old: str, stack: tuple[str, ...] = ()) -> None:
            if old in out:
                return
            if old in stack:
                say(f"{new}: {old} and its imports go in a circle")
                return
            for need in sorted(needs[old], key=olds.index):
                visit(need, (*stack, old))
            if old not in out:
                out.append(old)

        for old in olds:
            visit(old)
        return out

    def statement_of(self, path: str, name: str) -> str | None:
        """The text of the only statement at the top that binds a name."""
        source, found = self.sources[path], []
        for node in source.tree.body:
            probe = ast.Module(body=[node], type_ignores=[])
            if name in names_bound(probe):
                found.append(ast.unparse(node))
        return found[0] if len(found) == 1 else None

    def _rename(self) -> None:
        self.twins: dict[str, set[str]] = defaultdict(set)  # path -> names whose definition another member has too
        for new in self.plan.members:
            taken: dict[str, str] = {}
            olds = self.plan.members[new]
            if len(olds) < 2:
                continue
            everything = set().union(*(self.sources[o].bound | self.sources[o].inner for o in olds))
            ordered = self.ordered(new)
            for old in sorted(olds, key=lambda o: "/responses/" not in o):  # names of answers are published
                module = module_of(old)
                source = self.sources[old]
                for name in sorted(source.bound - set(self.passes[module])):
                    if name == "__all__" or any(name == a.asname or name == a.name for n, s in source.imports if not s for a in n.names):
                        continue
                    wants = name
                    if name in taken:
                        one, two = self.statement_of(taken[name], name), self.statement_of(old, name)
                        simple = two and len(two) < 400 and not two.startswith(("class", "@"))
                        if one and one == two and simple and "__file__" not in two and not self._differs(taken[name], old, two):
                            later = max(taken[name], old, key=ordered.index)
                            self.twins[later].add(name)
                            continue
                        wants = self.fresh(name, self.word(old), everything)
                    elif self._shadowed(olds, old, module, name):
                        wants = self.fresh(name, self.word(old), everything)
                    if wants != name:
                        self.renamed[module, name] = wants
                        everything.add(wants)
                        print(f"renamed in {new}: {name} of {old} is {wants}")
                    taken[wants] = old
            self._rename_imports(new, taken, everything)

    def _differs(self, one: str, two: str, text: str) -> bool:
        names = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
        a, b = self.passes[module_of(one)], self.passes[module_of(two)]
        return any(a.get(n) != b.get(n) for n in names) or any((module_of(two), n) in self.renamed for n in names)

    def fresh(self, name: str, word: str, everything: set[str]) -> str:
        if name.isupper() or (name.startswith("_") and name[1:].isupper()):
            made = f"{name}_{word.upper()}"
        elif word in ("grading", "sku", "report", "supplier", "analytics") and name[:1].isupper():
            made = f"{name}Record"
        elif name.lstrip("_")[:1].isupper():
            bar = "_" if name.startswith("_") else ""
            made = bar + "".join(p.capitalize() for p in word.split("_")) + name.lstrip("_")
        else:
            made = f"{name}_{word}"
        while made in everything or hasattr(builtins, made):
            made += "_2" if not made.endswith("_2") else "_"
        return made

    def _shadowed(self, olds: list[str], old: str, module: str, name: str) -> bool:
        """Whether a name becomes a bare one where a scope has a local of that name: `page = queries.page(...)`."""
        for other in olds:
            source = self.sources[other]
            if other == old or name not in source.inner:
                continue
            for alias, (m, n) in self.passes[module_of(other)].items():
                at = self.resolve(m, n)
                if at and at == (module, "") :
                    for use, scopes, parent, _ in source.uses:
                        if use.id == alias and isinstance(parent, ast.Attribute) and parent.attr == name and source.owner(name, scopes):
                            return True
        return False

    def _rename_imports(self, new: str, taken: dict[str, str], everything: set[str]) -> None:
        """Give each imported name of a joined module one meaning."""
        target = module_of(new)
        meaning: dict[str, tuple[str, str]] = {}
        self.chosen = getattr(self, "chosen", {})
        for old in self.ordered(new):
            module = module_of(old)
            for node, scopes in self.sources[old].imports:
                if scopes:
                    continue
                for a in node.names:
                    local = a.asname or a.name
                    if isinstance(node, ast.Import):
                        key = ("import", a.name)
                        wants = local.split(".")[0] if not a.asname else local
                    else:
                        at = self.resolve(node.module or "", a.name)
                        if at is None:
                            key, wants = (node.module or "", a.name), local
                        elif at[1] == "":
                            place = self.target(at[0])
                            if place == target:
                                continue
                            key, wants = (place or "", ""), self.module_word(at[0], local)
                        else:
                            place, symbol = self.symbol(*at)
                            if place == target:
                                self.local[module, local] = symbol
                                continue
                            key, wants = (place or "", symbol), (symbol if local == at[1] else local)
                    if wants in taken or meaning.get(wants, key) != key:
                        last = key[0].split(".")
                        made = f"{wants}_{last[-1] if key[1] else last[-2] if len(last) > 1 else last[0]}"
                        if wants[:1] == "_" or wants.isupper():
                            made = f"{wants}_{last[-1].upper()}"
                        elif wants[:1].isupper():
                            made = "".join(p.capitalize() for p in last[-1].split("_")) + wants
                        while made in taken or meaning.get(made, key) != key or made in everything:
                            made += "_"
                        wants = made
                    meaning[wants] = key
                    if wants != local:
                        self.local[module, local] = wants

    def module_word(self, old_module: str, local: str) -> str:
        """The name under which a file has a module: its own, or the alias that the file chose."""
        place = self.target(old_module) or old_module
        if local != old_module.split(".")[-1]:
            return local
        return place.split(".")[-1]


class Rewriter:
    """Rewrites one Python file: its imports, the uses of what they bind, and its own renamed names."""

    def __init__(self, house: House, path: str) -> None:
        self.house = house
        self.source = house.sources[path]
        self.path = path
        self.me = module_of(path)
        new = house.plan.new.get(path, path)
        self.target = module_of(new)
        self.joined = path in house.plan.new and len(house.plan.members[new]) > 1
        self.edits: list[tuple[int, int, str]] = []
        self.extra: dict[tuple[str, str], str] = {}
        self.added: set[str] = set()
        siblings = house.plan.members.get(new, [path]) if self.joined else [path]
        self.names = set().union(*(house.sources[s].bound | house.sources[s].inner for s in siblings))
        self.inner = set().union(*(house.sources[s].inner for s in siblings))
        self.listed = {
            e.value
            for n in self.source.tree.body
            if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "__all__"
            for e in getattr(n.value, "elts", [])
            if isinstance(e, ast.Constant)
        }
        self.taken_modules: dict[str, str] = SHARED.setdefault(self.target, {}) if self.joined else {}

    def local_of_module(self, place: str, old_local: str, keeps: bool) -> str:
        """The name under which this file has a module."""
        own = old_local if keeps else place.split(".")[-1]
        if self.taken_modules.get(own) == place:
            return own
        for name, has in self.taken_modules.items():
            if has == place and not keeps:
                return name
        replaced = self.replaced
        if own in self.taken_modules or own in self.inner or (own in self.names and own not in replaced) or (
            own in replaced and replaced[own] != place
        ):
            parts = place.split(".")
            word = parts[-2] if len(parts) > 2 and parts[-2] != parts[-1] else parts[0]
            own = f"{parts[-1]}_{word}"
            while own in self.taken_modules and self.taken_modules[own] != place or own in self.names:
                own += "_"
        self.taken_modules[own] = place
        return own

    def run(self) -> str:
        house, source = self.house, self.source
        self.replaced: dict[str, str] = {}
        bindings: list[tuple[str, tuple[ast.AST, ...], ast.ImportFrom, tuple[str, str]]] = []
        for node, scopes in source.imports:
            if isinstance(node, ast.Import):
                for a in node.names:
                    if a.name in house.module and house.target(a.name) != a.name:
                        say(f"{self.path}:{node.lineno}: import {a.name} is not rewritten")
                continue
            if not node.module or node.level:
                if node.level:
                    say(f"{self.path}:{node.lineno}: a relative import is not rewritten")
                continue
            for a in node.names:
                at = house.resolve(node.module, a.name)
                if at:
                    bindings.append((a.asname or a.name, scopes, node, at))
                    if at[1] == "" and not scopes:
                        self.replaced[a.asname or a.name] = house.target(at[0]) or ""
        lines: dict[ast.ImportFrom, list[str]] = defaultdict(list)
        touched: set[ast.ImportFrom] = set()
        for local, scopes, node, at in bindings:
            alias = next(a for a in node.names if (a.asname or a.name) == local)
            scope = scopes[-1] if scopes else None
            if at[1] == "":
                self._module(local, scope, node, at[0], alias, lines, touched)
            else:
                self._symbol(local, scope, node, at, alias, lines, touched)
        for node in touched:
            scopes = next(s for n, s in source.imports if n is node)
            kept = [
                a for a in node.names
                if house.resolve(node.module or "", a.name) is None and (a.asname or a.name)
            ]
            out = [f"from {node.module} import {a.name}" + (f" as {self.new_local(a.asname or a.name)}" if self.new_local(a.asname or a.name) != a.name else "") for a in kept]
            out += lines[node]
            start, end = source.span(node)
            indent = " " * node.col_offset
            tail = source.data[end : source.data.find(b"\n", end)].decode()
            if "noqa" in tail or "type:" in tail:
                say(f"{self.path}:{node.lineno}: look at the comment of this import: {tail.strip()}")
            end_of_line = f"{tail.rstrip()}\n" if "noqa" in tail else "\n"
            text = (end_of_line + indent).join(dict.fromkeys(out))
            if not out:
                text = "pass" if scopes else ""
            self.edits.append((start, end, text))
        self._own_imports(touched)
        self._own_names()
        return self._apply()

    def new_local(self, local: str) -> str:
        return self.house.local.get((self.me, local), local) if self.joined else local

    def _own_imports(self, touched: set[ast.ImportFrom]) -> None:
        """Names of other libraries that a joined module must have under another name."""
        if not self.joined:
            return
        for node, scopes in self.source.imports:
            if scopes or node in touched:
                continue
            parts, changed = [], False
            for a in node.names:
                local = a.asname or a.name
                wants = self.new_local(local)
                if isinstance(node, ast.ImportFrom) and self.house.resolve(node.module or "", a.name):
                    wants = local
                if wants != local:
                    changed = True
                    self._rename_uses(local, None, wants)
                parts.append(a.name + (f" as {wants}" if wants != a.name and (a.asname or wants != local) else ""))
            if changed:
                start, end = self.source.span(node)
                head = f"from {node.module} import " if isinstance(node, ast.ImportFrom) else "import "
                self.edits.append((start, end, head + ", ".join(parts)))
        for node in touched:
            for a in node.names:
                local = a.asname or a.name
                if self.house.resolve(node.module or "", a.name) is None and self.new_local(local) != local:
                    self._rename_uses(local, None, self.new_local(local))

    def _module(self, local, scope, node, module, alias, lines, touched) -> None:  # noqa: ANN001
        house = self.house
        place = house.target(module)
        hollow = house.module[module] in house.hollow
        same = place == module and not hollow and not self.joined
        by_attr: dict[str, tuple[str, str]] = {}
        needs_object = False
        for use, scopes, parent, in_joined in self.source.uses:
            if use.id != local or self.source.owner(local, scopes) is not scope or in_joined:
                continue
            if isinstance(parent, ast.Attribute) and parent.value is use:
                at = house.resolve(module, parent.attr)
                if at is None or at[1] == "":
                    needs_object = True
                    if at and at[1] == "" and at[0] != f"{module}.{parent.attr}":
                        say(f"{self.path}:{use.lineno}: {local}.{parent.attr} is a module: look")
                    continue
                by_attr[parent.attr] = house.symbol(*at)
            else:
                needs_object = True
        if same and all(p == place and s == attr for attr, (p, s) in by_attr.items()) and (place or "").split(".")[-1] == module.split(".")[-1]:
            lines[node].append(f"from {node.module} import {alias.name}" + (f" as {alias.asname}" if alias.asname else ""))
            self.taken_modules.setdefault(local, place)
            return
        touched.add(node)
        places = {p for p, _ in by_attr.values() if p}
        if needs_object and place:
            places.add(place)
        if needs_object and not place:
            say(f"{self.path}:{node.lineno}: {module} is gone and is used as a whole")
        if not places and place and place != self.target:
            places = {place}
        names: dict[str, str] = {}
        for p in sorted(places):
            if p == self.target and self.joined:
                names[p] = ""
                continue
            keeps = alias.asname is not None and p == place
            name = self.local_of_module(p, local, keeps)
            names[p] = name
            package, _, last = p.rpartition(".")
            if package:
                lines[node].append(f"from {package} import {last}" + (f" as {name}" if name != last else ""))
            else:
                lines[node].append(f"import {p}" + (f" as {name}" if name != p else ""))
        for use, scopes, parent, in_joined in self.source.uses:
            if use.id != local or self.source.owner(local, scopes) is not scope:
                continue
            if in_joined:
                continue
            start, end = self.source.span(use)
            if isinstance(parent, ast.Attribute) and parent.value is use and parent.attr in by_attr:
                p, symbol = by_attr[parent.attr]
                head = names.get(p or "", local)
                if not head and self.source.owner(symbol, scopes):
                    say(f"{self.path}:{use.lineno}: {symbol} is a local here too")
                self.edits.append((start, self.source.span(parent)[1], f"{head}.{symbol}" if head else symbol))
            elif place:
                head = names.get(place, local)
                if not head:
                    say(f"{self.path}:{use.lineno}: its own module {module} is used as an object")
                    head = f"sys.modules[__name__]"
                if head != local:
                    self.edits.append((start, end, head))
                self._setattr(use, parent, module)
        self._joined_strings(local, scope, lambda attr: self._dotted(attr, module, by_attr, names))

    def _dotted(self, attr, module, by_attr, names):  # noqa: ANN001, ANN202
        at = self.house.resolve(module, attr)
        p, symbol = self.house.symbol(*at) if at and at[1] else (self.house.target(module), attr)
        if p not in names:
            if p == self.target and self.joined:
                names[p] = ""
            else:
                name = self.local_of_module(p, module.split(".")[-1], False)
                names[p] = name
                package, _, last = p.rpartition(".")
                self.added.add(f"from {package} import {last}" + (f" as {name}" if name != last else ""))
        return f"{names[p]}.{symbol}" if names[p] else symbol

    def _setattr(self, use, parent, module) -> None:  # noqa: ANN001
        """`monkeypatch.setattr(module, "name", …)`: the name may be another one now."""
        if not isinstance(parent, ast.Call) or len(parent.args) < 2 or parent.args[0] is not use:
            return
        word = parent.args[1]
        if isinstance(word, ast.Constant) and isinstance(word.value, str):
            at = self.house.resolve(module, word.value)
            if at and at[1]:
                p, symbol = self.house.symbol(*at)
                if p != self.house.target(module):
                    say(f"{self.path}:{use.lineno}: {word.value!r} is patched in {module}, which passes it on from {p}")
                if symbol != word.value:
                    start, end = self.source.span(word)
                    self.edits.append((start, end, f'"{symbol}"'))

    def _symbol(self, local, scope, node, at, alias, lines, touched) -> None:  # noqa: ANN001
        place, symbol = self.house.symbol(*at)
        if place is None:
            say(f"{self.path}:{node.lineno}: {'.'.join(at)} is gone")
            return
        if place == self.target and self.joined:
            touched.add(node)
            if symbol != local:
                self._rename_uses(local, scope, symbol)
            return
        wants = local if local != at[1] else symbol
        if self.joined and scope is None:
            wants = self.new_local(local)
        elif local in self.listed:
            wants = local
        elif wants != local and (wants in self.names or hasattr(builtins, wants)):
            wants = local
        if place == node.module and symbol == alias.name and wants == local:
            lines[node].append(f"from {place} import {symbol}" + (f" as {wants}" if wants != symbol else ""))
            return
        touched.add(node)
        lines[node].append(f"from {place} import {symbol}" + (f" as {wants}" if wants != symbol else ""))
        if wants != local:
            self._rename_uses(local, scope, wants)

    def _rename_uses(self, local: str, scope: ast.AST | None, wants: str) -> None:
        for use, scopes, _, in_joined in self.source.uses:
            if use.id == local and not in_joined and self.source.owner(local, scopes) is scope:
                if self.source.owner(wants, scopes) and not (scope and self.source.owner(wants, scopes) is scope):
                    say(f"{self.path}:{use.lineno}: {wants} is a local here too")
                start, end = self.source.span(use)
                self.edits.append((start, end, wants))
        self._joined_strings(local, scope, None, wants)

    def _joined_strings(self, local, scope, dotted, wants="") -> None:  # noqa: ANN001
        """F-strings: positions within them are not told by Python 3.11, so they are read as text between braces."""
        for node, scopes in self.source.joined:
            if not any(isinstance(n, ast.Name) and n.id == local for n in ast.walk(node)):
                continue
            if self.source.owner(local, scopes) is not scope:
                continue
            start, end = self.source.span(node)
            self.edits.append((start, end, ("f", local, dotted, wants)))  # type: ignore[arg-type]

    def _own_names(self) -> None:
        """The names of this module that the plan renames: definitions and uses."""
        for (module, name), wants in self.house.renamed.items():
            if module != self.me:
                continue
            self._rename_uses(name, None, wants)
            for node in ast.walk(self.source.tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
                    if node not in self.source.tree.body and not any(
                        node in ast.walk(t) for t in self.source.tree.body if isinstance(t, ast.If | ast.Try)
                    ):
                        continue
                    start, _ = self.source.span(node)
                    at = re.compile(rb"(?:async\s+)?(?:def|class)\s+").match(self.source.data, start).end()
                    self.edits.append((at, at + len(name.encode()), wants))
                elif isinstance(node, ast.Global) and name in node.names:
                    start, end = self.source.span(node)
                    self.edits.append((start, end, "global " + ", ".join(wants if n == name else n for n in node.names)))

    def _apply(self) -> str:
        data = self.source.data
        strings: dict[tuple[int, int], list] = defaultdict(list)
        plain: dict[tuple[int, int], str] = {}
        for start, end, text in self.edits:
            if isinstance(text, tuple):
                strings[start, end].append(text)
            elif (start, end) in plain and plain[start, end] != text:
                say(f"{self.path}: two edits at one place: {plain[start, end]!r} and {text!r}")
            else:
                plain[start, end] = text
        for (start, end), changes in strings.items():
            plain[start, end] = braces(data[start:end].decode(), changes)
        last = len(data) + 1
        for (start, end), text in sorted(plain.items(), reverse=True):
            if end > last:
                say(f"{self.path}: edits overlap at byte {start}: {text!r}")
                continue
            data = data[:start] + text.encode() + data[end:]
            last = start
        text = data.decode()
        if self.added:
            tree = ast.parse(text)
            first = next(n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom))
            rows = text.split("\n")
            rows[first.lineno - 1 : first.lineno - 1] = sorted(self.added)
            text = "\n".join(rows)
        return text


SHARED: dict[str, dict[str, str]] = {}


def braces(text: str, changes: list) -> str:
    """Replace names in the braces of an f-string."""
    out, depth, begin = [], 0, 0
    i = 0
    while i < len(text):
        if text[i] == "{":
            if depth == 0 and text[i : i + 2] == "{{":
                i += 2
                continue
            if depth == 0:
                out.append(text[begin : i + 1])
                begin = i + 1
            depth += 1
        elif text[i] == "}" and depth:
            depth -= 1
            if depth == 0:
                part = text[begin:i]
                marks: dict[str, str] = {}
                for _, local, dotted, wants in changes:
                    if dotted:
                        part = re.sub(
                            rf"(?<![\w.\"']){re.escape(local)}\.(\w+)",
                            lambda m, d=dotted: marks.setdefault(m.group(0), f"\0{len(marks)}\0{d(m.group(1))}\1"),
                            part,
                        )
                    else:
                        part = re.sub(rf"(?<![\w.\"'\0]){re.escape(local)}(?![\w\"'=])", f"\0{wants}\1", part)
                part = re.sub(r"\0\d+\0", "", part).replace("\0", "").replace("\1", "")
                out.append(part)
                begin = i
        i += 1
    out.append(text[begin:])
    return "".join(out)


def split(text: str, drop: set[str]) -> tuple[str, list[str], list[str], str, list[str]]:
    """Docstring, imports, imports for types, body and `__all__` of a module's text."""
    tree = ast.parse(text)
    rows = text.split("\n")
    doc, imports, typed, exported = "", [], [], []
    cut: set[int] = set()
    for index, node in enumerate(tree.body):
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        span = range(first - 1, node.end_lineno)
        if index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            doc = "\n".join(rows[i] for i in span)
            cut.update(span)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imports.append("\n".join(rows[i] for i in span))
            cut.update(span)
            above = span.start - 1
            while above >= 0 and rows[above].startswith("#"):
                imports[-1] = rows[above] + "\n" + imports[-1]
                cut.add(above)
                above -= 1
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            typed += ["\n".join(rows[n.lineno - 1 : n.end_lineno]) for n in node.body]
            cut.update(span)
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            exported = [e.value for e in getattr(node.value, "elts", []) if isinstance(e, ast.Constant)]
            if exported:
                cut.update(span)
        elif drop:
            probe = names_bound(ast.Module(body=[node], type_ignores=[]))
            if probe and probe <= drop:
                cut.update(span)
                follow = span.stop
                if index + 1 < len(tree.body):
                    after = tree.body[index + 1]
                    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                        cut.update(range(after.lineno - 1, after.end_lineno))
                del follow
    body = "\n".join(row for i, row in enumerate(rows) if i not in cut).strip("\n")
    return doc, imports, typed, body, exported


def join(house: House, new: str, texts: dict[str, str]) -> str:
    """The text of a joined module."""
    first = house.plan.members[new][0]
    doc, imports, typed, bodies, exported = "", [], [], [], []
    ends: list[str] = []
    for old in house.ordered(new):
        if old in house.hollow and old != first:
            continue
        d, i, t, body, names = split(texts[old], {house.renamed.get((module_of(old), n), n) for n in house.twins[old]})
        if old == first:
            doc = d
        imports += i if old not in house.hollow else []
        typed += t
        exported += names if old not in house.hollow else []
        match = re.search(r'^if __name__ == "__main__":.*?(?=^\S|\Z)', body, re.MULTILINE | re.DOTALL)
        if match and body[match.end() :].strip() == "":
            ends.append(match.group(0).rstrip())
            body = body[: match.start()].rstrip("\n")
        bodies.append(body)
    out = [doc, "", *dict.fromkeys(imports)]
    if typed:
        out += ["", "if TYPE_CHECKING:", *dict.fromkeys(typed)]
    own = [n for n in dict.fromkeys(exported)]
    if own:
        # A package's list is needless in a module; a module's own list says what it passes on.
        defined = set().union(*(names_bound(ast.parse(b)) for b in bodies if b))
        if not set(own) <= defined:
            out += ["", "__all__ = [" + ", ".join(repr(n) for n in sorted(own)) + "]"]
    out += ["", *(f"\n\n{body}" for body in bodies if body.strip())]
    out += [f"\n\n{end}" for end in ends]
    return "\n".join(out).rstrip() + "\n"


def hollowed(text: str) -> str:
    doc, _, _, _, _ = split(text, set())
    return doc.rstrip() + "\n"


FILE = re.compile(
    r"Path\(__file__\)(?:(?P<up>(?:\.parent\b)+)|\.parents\[(?P<n>\d+)\]|\.with_name\((?P<w>\"[^\"]+\")\)|\.with_suffix\((?P<s>\"[^\"]+\")\))(?P<rest>(?: / \"[^\"]+\")*)"
)


def places(text: str, old: str, new: str, moved: dict[str, str]) -> str:
    """Rewrite `Path(__file__)…` of a module that moves, so that it names the same file, wherever that is now."""
    if old == new or "__file__" not in text:
        return text
    here, there = Path(old).parent, Path(new).parent

    def change(m: re.Match[str]) -> str:
        if m["w"]:
            base = here / m["w"].strip('"')
        elif m["s"]:
            base = Path(old).with_suffix(m["s"].strip('"'))
        else:
            steps = len(m["up"]) // len(".parent") if m["up"] else int(m["n"]) + 1
            base = Path(old)
            for _ in range(steps):
                base = base.parent
        for part in re.findall(r'"([^"]+)"', m["rest"]):
            base /= part
        goal = Path(moved.get(str(base), str(base)))
        if goal == Path():
            inner: list[str] = []
            up = len(there.parts)
        else:
            up = 0
            while not goal.is_relative_to(there.parents[up - 1] if up else there):
                up += 1
            root = there.parents[up - 1] if up else there
            inner = list(goal.relative_to(root).parts)
        head = "Path(__file__)" + (".parent" if up == 0 else f".parents[{up}]")
        whole = head + "".join(f' / "{p}"' for p in inner)
        return f"({whole})" if inner and text[m.end() : m.end() + 1] == "." else whole

    return FILE.sub(change, text)


DOTTED = re.compile(r"(?<![\w./-])(?:" + "|".join((*ROOMS, "tests", "tools")) + r")(?:\.[A-Za-z_]\w*)+")
PATHS = re.compile(r"(?<![\w.-])(?:" + "|".join((*ROOMS, "tests", "tools")) + r")/[\w./-]*\w/?")
SKIPPED = {"docs/house/moves.csv", "docs/house/plan.md", "tools/house/move.py", "CHANGELOG.md"}


SPLIT = {"pipelines.declarations": "pipelines/filings", "pipelines.corrections": "pipelines/imports"}
"""Where a package is now whose modules went to several folders, for settings that name the package."""


def reflowed(text: str) -> str:
    """Break lines of comments and of texts about code that are too long; a first line of a docstring stays."""
    tree = ast.parse(text)
    within: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            within.update(range(node.lineno + 1, node.end_lineno + 1))
    out: list[str] = []
    for number, row in enumerate(text.split("\n"), 1):
        bare = row.strip()
        indent = row[: len(row) - len(row.lstrip())]
        if len(row) <= 120 or not (number in within or bare.startswith("# ")):
            out.append(row)
            continue
        mark = "# " if bare.startswith("# ") else ""
        hang = indent + mark
        while len(row) > 120:
            at = row.rfind(" ", len(hang) + 1, 121)
            if at < 0:
                break
            out.append(row[:at])
            row = hang + row[at + 1 :]
        out.append(row)
    return "\n".join(out)


class Words:
    """Rewrites dotted names and paths in texts: strings, comments, documents, settings."""

    def __init__(self, house: House, moved: dict[str, str]) -> None:
        self.house = house
        self.moved = moved
        self.folders: dict[str, str | None] = {}
        by: dict[str, set[str]] = defaultdict(set)
        for old in house.plan.files:
            if old.split("/")[0] not in CODE or old in house.plan.goes:
                continue
            new = moved.get(old, old)
            for parent in Path(old).parents:
                if str(parent) != "." and "/" in str(parent):
                    by[str(parent)].add(new if new.endswith(".py") and len(Path(new).parts) > 1 else new)
        for folder, news in by.items():
            if len(news) == 1 and not any(n == o for n in news for o in (folder,)):
                only = next(iter(news))
                self.folders[folder] = only if only != folder + "/__init__.py" and not only.startswith(folder + "/") else folder
            else:
                top = os.path.commonpath([str(Path(n).parent) for n in news])
                self.folders[folder] = top if top not in (".", "") and "/" in top else None

    def dotted(self, m: re.Match[str]) -> str:
        text = m.group(0)
        parts = text.split(".")
        for size in range(len(parts), 1, -1):
            module = ".".join(parts[:size])
            if module in self.house.module:
                rest = parts[size:]
                target = self.house.target(module)
                if rest:
                    at = self.house.resolve(module, rest[0])
                    if at and at[1]:
                        place, symbol = self.house.symbol(*at)
                        return ".".join([place or module, symbol, *rest[1:]])
                if target:
                    return ".".join([target, *rest])
                folder = SPLIT.get(module) or self.folders.get(module.replace(".", "/"))
                return (folder.removesuffix(".py").replace("/", ".") if folder else module) + "".join("." + r for r in rest)
        return text

    def path(self, m: re.Match[str]) -> str:
        text = m.group(0)
        bare = text.rstrip("/")
        if bare in self.moved:
            return self.moved[bare]
        if bare + ".py" in self.moved and not (ROOT / bare).is_dir():
            return self.moved[bare + ".py"].removesuffix(".py")
        if bare in self.folders and self.folders[bare] and self.folders[bare] != bare:
            new = self.folders[bare] or ""
            return new + ("/" if text.endswith("/") and not new.endswith(".py") else "")
        return text

    def rewrite(self, text: str) -> str:
        return PATHS.sub(self.path, DOTTED.sub(self.dotted, text))

    def strings_and_comments(self, text: str) -> str:
        """Only what is no code: code is rewritten by its names."""
        import io  # noqa: PLC0415
        import tokenize  # noqa: PLC0415

        data = text.split("\n")
        starts = [0]
        for row in data:
            starts.append(starts[-1] + len(row) + 1)
        edits = []
        try:
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type in (tokenize.STRING, tokenize.COMMENT):
                    new = self.rewrite(token.string)
                    if new != token.string:
                        edits.append((starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1], new))
        except tokenize.TokenError as error:
            say(f"not read as tokens: {error}")
        for start, end, new in reversed(edits):
            text = text[:start] + new + text[end:]
        return text


PATCHES = {
    'loader=PackageLoader("api.pages"),': "loader=FileSystemLoader(_FOLDERS),",
    "from jinja2 import Environment, PackageLoader, StrictUndefined": "from jinja2 import Environment, FileSystemLoader, StrictUndefined",
    'FOLDER: Final = Path(__file__).parent / "texts"\n': 'FOLDER: Final = Path(__file__).parents[1]\n_FOLDERS: Final = sorted(path for path in FOLDER.iterdir() if path.is_dir())\n"""A page\'s template and texts are beside its subject."""\n',
    'FOLDER.glob("*.csv")': 'FOLDER.glob("*/texts/*.csv")',
}
"""What finds templates and texts, in `api/pages/render.py`, once they are beside their subjects."""


HANDS = [
    ("services/operate.py", "where your process manager starts the programs.", "where a process manager starts programs."),
    ("services/skus/write.py", "Write validated records (`schemas.skus.inputs.parse_sku`) in the caller's transaction; return an outcome for each.", "Write records of `schemas.skus.inputs.parse_sku` in the caller's transaction; return an outcome for each."),
    ("services/skus/write.py", "Write validated rows (`schemas.skus.inputs.parse_volumes`) of a stored SKU, in a session that has its company set.", "Write rows of `schemas.skus.inputs.parse_volumes` of a stored SKU, in a session that has its company set."),
    ("api/operate/commands.py", "start the whole service, and migrate its database; `api.operate.serve` supervises it.", "start the service, and migrate its database; `api.operate.serve` supervises it."),
    ("pipelines/engine/celery_app.py", "Configures this service's Celery workers: `celery -A", "Configures our Celery workers: `celery -A"),
    ("tests/schemas/test_types.py", "have the fields of the tables and of the published models.", "have the fields of tables and published models."),
    ("tools/settings_page.py", "This page is written by `python -m tools.settings_page` from `warehouse/operate/settings.py`, and a test holds\n", "This page is written by `python -m tools.settings_page` from `warehouse/operate/settings.py`; a test holds\n"),
    ("warehouse/operate/otlp.py", "`warehouse.operate.tracing` alone imports this, where it is on.", "`warehouse.operate.tracing` alone imports it."),
    ("schemas/words.py", "for table, meaning, word in entries:", "for table, meaning, text in entries:"),
    ("schemas/words.py", "known.setdefault(fold(word), meaning)", "known.setdefault(fold(text), meaning)"),
    ("schemas/words.py", "“{word}” stands for both", "“{text}” stands for both"),
    ("warehouse/operate/embedded/upgrade.py", "for socket in lock.parent.glob", "for path in lock.parent.glob"),
    ("warehouse/operate/embedded/upgrade.py", "        socket.unlink()\n    lock.unlink()", "        path.unlink()\n    lock.unlink()"),
]
"""Small edits: new path, text, text instead. Each is passed over where its text is not found."""


def write(path: str, text: str) -> None:
    (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / path).write_text(text, encoding="utf-8")


def apply(plan: Plan) -> None:
    house = House(plan)
    moved = dict(plan.new)
    words = Words(house, moved)
    texts: dict[str, str] = {}
    # What is joined comes first and in order, so that its modules agree on the names of what they import.
    for path in plan.python:
        if path in plan.goes or path.startswith("tools/house/"):
            continue
        text = Rewriter(house, path).run() if not (path in house.hollow and path not in ()) else house.sources[path].text
        text = places(text, path, plan.new.get(path, path), moved)
        texts[path] = words.strings_and_comments(text)
    results: dict[str, str] = {}
    for path, text in texts.items():
        new = plan.new.get(path, path)
        if new in results:
            continue
        if len(plan.members.get(new, [])) > 1:
            results[new] = join(house, new, texts)
        elif path in house.hollow and (len(house.passes[module_of(path)]) or "__all__" in text):
            results[new] = hollowed(text)
        else:
            results[new] = text
    if any(old.startswith("api/pages/templates/") for old in moved) and "api/pages/render.py" in results:
        for one, other in PATCHES.items():
            if one not in results["api/pages/render.py"]:
                say(f"api/pages/render.py: not found: {one!r}")
            results["api/pages/render.py"] = results["api/pages/render.py"].replace(one, other)
    for path, one, other in HANDS:
        if path in results:
            results[path] = results[path].replace(one, other)
    for old, new in plan.new.items():
        if old == new:
            continue
        (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
        if plan.members[new][0] == old and not (ROOT / new).exists():
            git("mv", old, new)
        elif old.endswith(".py"):
            git("rm", "-q", "--cached", old)
            if old not in results:
                (ROOT / old).unlink(missing_ok=True)
        else:
            git("mv", old, new)
    for old in plan.goes:
        git("rm", "-q", old)
    changed = []
    for path, text in results.items():
        if not (ROOT / path).exists() or (ROOT / path).read_text(encoding="utf-8") != text:
            write(path, reflowed(text) if path.endswith(".py") else text)
            changed.append(path)
    changed += packages(results)
    for path in plan.files:
        if path.endswith(".py") or path in SKIPPED or path in plan.new or not (ROOT / path).exists():
            continue
        if path.startswith(("docs/spec/", "docs/house/")) or path.endswith((".lock", ".xlsx", ".png", ".gz", ".po")):
            continue
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        new_text = words.rewrite(text)
        if new_text != text:
            write(path, new_text)
    for path in plan.files:  # reference comments of translations do not change meaning
        if path.endswith(".po") and (ROOT / path).exists():
            text = (ROOT / path).read_text(encoding="utf-8")
            rows = [words.rewrite(r) if r.startswith("#") else r for r in text.split("\n")]
            write(path, "\n".join(rows))
    ruff = ROOT / ".venv/bin/ruff"
    python = [c for c in changed if c.endswith(".py")]
    for arguments in (["check", "-q", "--select", "I,F401,F811,RUF022", "--fix"], ["format", "-q"]):
        for i in range(0, len(python), 200):
            subprocess.run([str(ruff), *arguments, *python[i : i + 200]], cwd=ROOT, check=False)
    for folder in sorted({str(Path(o).parent) for o in [*plan.new, *plan.goes]}, key=len, reverse=True):
        left = ROOT / folder
        if left.is_dir() and not any(p for p in left.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            for cache in left.rglob("__pycache__"):
                for file in cache.iterdir():
                    file.unlink()
                cache.rmdir()
            if not any(left.iterdir()):
                left.rmdir()
    git("add", "-A", *[r for r in CODE if (ROOT / r).exists()])
    print(f"{len(plan.new)} modules and files into {len(plan.members)}, {len(plan.goes)} gone, {len(changed)} files written")


def packages(results: dict[str, str]) -> list[str]:
    """Give each folder of modules its `__init__`."""
    made = []
    folders = {str(Path(p).parent) for p in results if p.split("/")[0] in ROOMS and "versions" not in p and p != "warehouse/migrations/env.py"}
    for folder in sorted(folders | {str(p) for f in folders for p in Path(f).parents if str(p) not in (".",)}):
        path = f"{folder}/__init__.py"
        if path not in results and not (ROOT / path).exists():
            name = Path(folder).name
            what = SUBJECTS.get(name, name)
            room = folder.split("/")[0]
            write(path, f'"""{what[0].upper()}{what[1:]}: the modules of `{room}` about it."""\n')
            made.append(path)
    return made


def check(plan: Plan) -> int:
    """Print sizes, imports upwards and circles after the plan; the number of faults."""
    house = House(plan)
    size: dict[str, int] = defaultdict(int)
    arrows: dict[str, set[str]] = defaultdict(set)
    faults = 0
    for path in plan.python:
        if path.split("/")[0] not in ROOMS or path in plan.goes:
            continue
        new = plan.new.get(path, path)
        size[new] += house.sources[path].text.count("\n")
        if path in house.hollow:
            continue
        for node, scopes in house.sources[path].imports:
            if not isinstance(node, ast.ImportFrom) or not node.module or scopes:
                continue
            for a in node.names:
                at = house.resolve(node.module, a.name)
                if at and at[0].split(".")[0] in ROOMS:
                    to = plan.new.get(house.module[at[0]], house.module[at[0]])
                    if to != new and house.module[at[0]] not in house.hollow:
                        arrows[new].add(to)
    for one, tos in arrows.items():
        for to in tos:
            if ROOMS.index(one.split("/")[0]) < ROOMS.index(to.split("/")[0]):
                faults += 1
                print(f"upwards: {one} imports {to}")
    sys.setrecursionlimit(20000)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(v: str) -> None:
        nonlocal faults
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in arrows[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            circle = []
            while True:
                w = stack.pop()
                circle.append(w)
                if w == v:
                    break
            if len(circle) > 1:
                faults += 1
                print("circle:", *circle)

    for v in list(size):
        if v not in index:
            visit(v)
    new_packages = {str(Path(p).parent) for p in size} - {str(Path(p).parent) for p in size if p.endswith("__init__.py")}
    own = sorted(n for p, n in size.items() if "versions" not in p)
    print(f"modules {len(size)} and {len(new_packages)} new packages, lines {sum(size.values())}, median {own[len(own) // 2]}")
    for path, lines in size.items():
        if lines > 600:
            faults += 1
            print(f"longer than 600 lines before imports are merged: {path} {lines}")
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    plan = Plan(arguments.only)
    faults = 0
    if arguments.check:
        faults = check(plan)
    else:
        apply(plan)
    for problem in dict.fromkeys(PROBLEMS):
        print("by hand:", problem)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
