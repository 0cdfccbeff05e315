"""The regular expressions of the code, and texts made from the parts of one that try whether it is slow.

The test is `test_patterns.py`.
"""

import ast
import importlib
import inspect
import re
import re._constants as sre
import re._parser as parser
import time
from collections.abc import Iterable, Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ROOMS = ("schemas", "compliance", "warehouse", "pipelines", "services", "api", "connector")
_ALPHABET = " \t\na1x.,-/<>\"'=:;([%&_#é"
"""What fills a class of characters or stands for any."""
_LOOKS = r"(?:search|sub|subn|findall|finditer|split)\("
_ENDS = ("", "\x00", "\n!")
_SHORT, _TIMES = 1_000, 4
_WORTH_A_LOOK_SECONDS = 0.002
"""CPU of a text of four thousand characters; what is linear takes less than a tenth of it."""
_MOST_GROWTH = 9.0
"""Times as long for a text four times as long; a square is sixteen, and measuring small times needs room."""
_MOST_GROWTH_OF_TWICE = 3.0
"""The same for a text twice as long: a square is four, what is linear is two."""
_SURELY_SECONDS = 0.5
"""CPU of a text of four thousand characters that needs no look at a longer one."""
Pattern = re.Pattern[str] | re.Pattern[bytes]


def of_the_code() -> Iterator[tuple[str, Pattern, bool]]:
    """Place, pattern, and whether it is looked for in a text or only tried at its start.

    Patterns are those that modules hold, that functions without arguments give, and that calls spell out.
    """
    sources = {path: path.read_text(encoding="utf-8") for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))}
    looked_for = {name for source in sources.values() for name in re.findall(rf"\b(\w+)(?:\(\))?\.{_LOOKS}", source)}
    for path, source in sources.items():
        if not re.search(r"^(?:import|from) re\b", source, re.MULTILINE):
            continue
        place = str(path.relative_to(ROOT))
        yield from ((f"{place}: {name}", pattern, name in looked_for) for name, pattern in _held(place))
        yield from ((f"{place}:{line}", pattern, looks) for line, pattern, looks in _spelled(source))


def _held(place: str) -> Iterator[tuple[str, Pattern]]:
    module = importlib.import_module(place.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    for name, value in vars(module).items():
        values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else [value]
        yield from ((name, held) for held in values if isinstance(held, re.Pattern))
        if inspect.isroutine(value) or hasattr(value, "cache_info"):
            returns = getattr(value, "__annotations__", {}).get("return")
            if "Pattern" in str(returns) and not inspect.signature(value).parameters:
                yield name, value()


def _spelled(source: str) -> Iterator[tuple[int, Pattern, bool]]:
    """Line, pattern, and whether it is looked for, of patterns that stand as a text in a call of `re`."""
    for node in ast.walk(ast.parse(source)):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re":
            assert isinstance(node, ast.Call)
            first = node.args[0] if node.args else None
            if called.attr not in ("escape", "compile") and isinstance(first, ast.Constant):
                yield node.lineno, re.compile(first.value), re.match(_LOOKS, f"{called.attr}(") is not None


def slow(pattern: Pattern, *, looked_for: bool = True) -> str | None:
    """A text that the pattern takes disproportionately long for, told by its parts; None where none was found."""

    def cpu(length: int) -> float:
        return _cpu(pattern, prefix + pump * (length // len(pump)) + end, looked_for=looked_for)

    for prefix, pump, end in dict.fromkeys(_attacks(parser.parse(pattern.pattern, pattern.flags))):
        if (long := cpu(_SHORT * _TIMES)) < _WORTH_A_LOOK_SECONDS:
            continue
        if long < _SURELY_SECONDS:  # else it is long enough to be measured once
            long = min(cpu(_SHORT * _TIMES) for _ in range(3))
        short = min(cpu(_SHORT) for _ in range(3))
        grows = long > _WORTH_A_LOOK_SECONDS and long > _MOST_GROWTH * short
        # A repetition of at most some hundred characters grows as a square up to there, and no further.
        if grows and (long > _SURELY_SECONDS or cpu(_SHORT * _TIMES * 2) > _MOST_GROWTH_OF_TWICE * long):
            return f"{prefix[:40]!r} + {pump!r} * n + {end!r}: {short:.4f} s, four times as long {long:.4f} s"
    return None


def _cpu(pattern: Any, text: str, *, looked_for: bool) -> float:
    given = text.encode() if isinstance(pattern.pattern, bytes) else text
    begun = time.process_time()
    pattern.fullmatch(given)
    for _ in pattern.finditer(given) if looked_for else [pattern.match(given)]:
        pass
    return time.process_time() - begun


def _attacks(tree: Iterable[Any]) -> Iterator[tuple[str, str, str]]:
    for prefix, body in _repeats(tree, ""):
        single = list(dict.fromkeys(_samples(body)))[:8]
        pairs = [one + other for one, other in islice(product(single, repeat=2), 16) if one != other]
        again = [prefix[-40:] + one for one in single[:3] if prefix]  # the start of each match once more
        for pump in dict.fromkeys([*single, *pairs, *again]):
            if pump:
                for end in _ENDS:
                    yield from dict.fromkeys([(prefix, pump, end), ("", pump, end)])


def _repeats(tree: Iterable[Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Each repetition without a small bound, with a text that leads to it."""
    for operator, argument in tree:
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            if argument[1] > 32:
                yield prefix, argument[2]
            yield from _repeats(argument[2], prefix)
        elif operator is sre.SUBPATTERN:
            yield from _repeats(argument[3], prefix)
        elif operator is sre.ATOMIC_GROUP:
            yield from _repeats(argument, prefix)
        elif operator is sre.BRANCH:
            for branch in argument[1][:8]:
                yield from _repeats(branch, prefix)
        prefix += next(_samples([(operator, argument)]), "")


def _samples(tree: Any) -> Iterator[str]:
    """A few texts that the tree may match; what only looks around counts as nothing."""
    parts = [list(islice(_of_one(operator, argument), 8)) or [""] for operator, argument in tree]
    for at in range(max(map(len, parts), default=1)):
        yield "".join(part[min(at, len(part) - 1)] for part in parts)


def _of_one(operator: Any, argument: Any) -> Iterator[str]:
    if operator is sre.LITERAL:
        yield chr(argument)
    elif operator is sre.NOT_LITERAL:
        yield from (character for character in _ALPHABET if ord(character) != argument)
    elif operator is sre.ANY:
        yield from _ALPHABET
    elif operator is sre.IN:
        yield from (character for character in _ALPHABET if _fits(character, argument))
        yield from (
            chr(value if kind is sre.LITERAL else value[0])
            for kind, value in argument
            if kind in (sre.LITERAL, sre.RANGE) and argument[0][0] is not sre.NEGATE
        )
    elif operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        yield from (text * max(argument[0], 1) for text in _samples(argument[2]))
    elif operator is sre.SUBPATTERN:
        yield from _samples(argument[3])
    elif operator is sre.ATOMIC_GROUP:
        yield from _samples(argument)
    elif operator is sre.BRANCH:
        for branch in argument[1]:
            yield from islice(_samples(branch), 2)


_CLASSES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}


def _fits(character: str, of_class: Any) -> bool:
    negated = of_class[0][0] is sre.NEGATE
    for kind, value in of_class[negated:]:
        if (
            (kind is sre.LITERAL and ord(character) == value)
            or (kind is sre.RANGE and value[0] <= ord(character) <= value[1])
            or (kind is sre.CATEGORY and re.match(_CLASSES[value], character))
        ):
            return not negated
    return negated
