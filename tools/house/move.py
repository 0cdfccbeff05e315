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

from by_hand import *


PATCHES = {
    'loader=PackageLoader("api.pages"),': 'loader=DictLoader({path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*/*.html")}),',
    "from jinja2 import Environment, PackageLoader, StrictUndefined": "from jinja2 import DictLoader, Environment, StrictUndefined",
    'FOLDER: Final = Path(__file__).parent / "texts"\n': 'FOLDER: Final = Path(__file__).parents[1]\n"""A page\'s template and texts are beside its subject."""\n',
    'FOLDER.glob("*.csv")': 'FOLDER.glob("*/texts/*.csv")',
}
"""What finds templates and texts, in `api/pages/render.py`, once they are beside their subjects."""


def write(path: str, text: str) -> None:
    (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / path).write_text(text, encoding="utf-8")


INCLUDES = re.compile(r"^(\s*)for (\w+) in \(([^()]*)\):\n\s*(\w[\w.]*\((?:\w+, )?)\2\.router\)", re.MULTILINE)


def routers(house: House, path: str, text: str) -> str:
    """Name each router where routes are collected: a module that was joined has several, or one instead of several."""
    passed = house.passes[module_of(path)]
    if not INCLUDES.search(text):
        say(f"not applied, {path} collects its routers in another way: name each router of a joined module there")
    before = list(INCLUDES.finditer(house.sources[path].text))
    for one, m in zip(before, list(INCLUDES.finditer(text)), strict=True):
        names = []
        for old, new in zip(re.findall(r"\w+", one[3]), re.findall(r"\w+", m[3]), strict=True):
            at = house.resolve(*passed[old])
            symbol = house.symbol(at[0], "router")[1] if at else "router"
            names.append(f"{new}.{symbol}")
        lines = "".join(f"{m[1].strip(chr(10))}    {name},\n" for name in dict.fromkeys(names))
        indent = m[1].strip("\n")
        if indent and len(names) > 10:  # a list of that length is no part of a function
            rows = "".join(f"    {name},\n" for name in dict.fromkeys(names))
            listed = f'_PUBLISHED: Final = (\n{rows})\n"""Paths with a name come before the single SKU: the name would else be read as a SKU\'s id."""\n\n\n'
            at = text.rfind("\ndef ", 0, m.start()) + 1
            text = text.replace(m[0], f"{m[1]}for {m[2]} in _PUBLISHED:\n{indent}    {m[4]}{m[2]})")
            text = text[:at] + listed + text[at:]
            text = re.sub(r" +# Paths with a name come before the single SKU[^\n]*\n", "", text)
            continue
        text = text.replace(m[0], f"{m[1]}for {m[2]} in (\n{lines}{indent}):\n{indent}    {m[4]}{m[2]})")
    return text


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
        if path.split("/")[0] in ROOMS and (INCLUDES.search(text) or path in ("api/app.py", "api/pages/routes.py")):
            text = routers(house, path, text)
        if path.split("/")[0] in ROOMS:
            text = drawing(text, path, plan)
        texts[path] = words.strings_and_comments(text, lambda string, path=path: bare(string, path, plan))
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
    if "api/cli.py" in results:
        def command(m: re.Match[str]) -> str:
            place, symbol = house.symbol("api.commands." + m[2], m[3])
            if not re.fullmatch(r"api\.\w+\.commands", place or ""):
                say(f"api/cli.py: {m[0]} is in {place}, which is no subject's commands")
            return f'{m[1]}("{(place or "").split(".")[1]}", "{symbol}")'

        text = re.sub(r'(": )\("(\w+)", "(\w+)"\)', command, results["api/cli.py"])
        text = text.replace('f"api.commands.{module}"', 'f"api.{module}.commands"')
        results["api/cli.py"] = text.replace("Each command's module in api/commands, and", "Each command's subject, whose `commands` have it, and")
    for path, text in results.items():
        results[path] = hand(path, text)
    for path in {place for place, _, _ in HANDS if place.endswith(".py")} - set(results):
        say(f"not applied, {path} is not there")
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
        new_text = words.rewrite(read_me(text) if path == "README.md" else bare(text, path, plan) if path.endswith(".md") else text)
        new_text = hand(path, new_text)
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
    ends()
    git("add", "-A")
    print(f"{len(plan.new)} modules and files into {len(plan.members)}, {len(plan.goes)} gone, {len(changed)} files written")


def ends() -> None:
    """The last steps: the page of settings, and the house's plan and tool go."""
    done = subprocess.run([str(ROOT / ".venv/bin/python"), "-m", "tools.settings_page"], cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        say(f"python -m tools.settings_page failed: {done.stderr[-300:]}")
    git("rm", "-rqf", "docs/house", "tools/house")


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
