"""Joins modules, and rewrites names and paths in texts."""

from rewrite import *


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


SPLIT_FOLDERS = {
    "pipelines/regrading": "pipelines/rules.py",
    "pipelines/figures": "pipelines/figures.py",
    "api/pages/templates": "api/pages",
    "api/pages/texts": "api/pages",
}
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
                if folder in SPLIT_FOLDERS:
                    self.folders[folder] = SPLIT_FOLDERS[folder]
                    continue
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

    def strings_and_comments(self, text: str, more=lambda string: string) -> str:  # noqa: ANN001
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
                    new = self.rewrite(more(token.string))
                    if new != token.string:
                        edits.append((starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1], new))
        except tokenize.TokenError as error:
            say(f"not read as tokens: {error}")
        for start, end, new in reversed(edits):
            text = text[:start] + new + text[end:]
        return text
