"""Where each name is after the moves, and what it is called."""

from tree import *


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
        with (ROOT / "docs/house/names.csv").open(encoding="utf-8", newline="") as file:
            self.better = {(row["old"], row["name"]): row["new"] for row in csv.DictReader(file)}
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
                        makes = re.search(r"^\w+(?:: [^=]+)? = .*\w\(", two or "") and not re.search("get_logger|TypeVar|APIRouter", two)
                        simple = two and not makes and len(two) < 400 and not two.startswith(("class", "@"))
                        if one and one == two and simple and (old, name) not in self.better and "__file__" not in two and not self._differs(taken[name], old, two):
                            later = max(taken[name], old, key=ordered.index)
                            self.twins[later].add(name)
                            continue
                        wants = self.better.get((old, name)) or self.fresh(name, self.word(old), everything)
                    elif self._shadowed(olds, old, module, name):
                        wants = self.better.get((old, name)) or self.fresh(name, self.word(old), everything)
                    if wants != name:
                        self.renamed[module, name] = wants
                        if wants in everything:
                            say(f"{new}: {wants} of {old} is a name there already: another one for docs/house/names.csv")
                        everything.add(wants)
                        if (old, name) not in self.better:
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
            made = f"{word}_{name}" if name in ("router", "app") else f"{name}_{word}"
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
