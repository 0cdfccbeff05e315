"""Rewrites the code of one file: its imports and what they bind."""

from house import *


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
