"""Walks the pages from link to link as a person does, and finds the English on them."""

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from api.pages.render import STYLE
from tests.api.people import Browser

ADDRESS = re.compile(r'(?:href|action|formaction)="([^"#]+)(?:#[^"]*)?"')
SWITCH = re.compile(r'<nav class="languages".*?</nav>', re.DOTALL)
SEARCH = re.compile(r'<form method="get" action="([^"]+)"[^>]*>\s*<input type="hidden" name="lang"')
FOREIGN = re.compile(r"https?://|mailto:|/reference/guides")  # the guides are English
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=/supplier-data/)[^/]+|(?<=/markets/)\w+")
OF_A_SHAPE = 4
"""Pages visited that differ in ids and parameters' values alone."""
WORDS = (
    "the of and is are which with this that from not has have were been by its it each where what only than other their"
    " would should for without whose there they when unless must may packaging item items"
)
ENGLISH = re.compile(rf"\b({'|'.join(f'{word}|{word.capitalize()}' for word in WORDS.split())})\b")
"""Words of English sentences that are no words of French or German."""
CODE = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
SILENT = ("style", "script", "code", "textarea")
"""Elements whose text is not for reading, or is what somebody typed; a name that is not translated is silent too."""


def addresses(page: Any) -> set[str]:
    """Where a page leads to in its language."""
    return {unescape(found) for found in ADDRESS.findall(SWITCH.sub("", page.text))} - {STYLE}


def broken_places(text: str) -> list[str]:
    """Ids that several elements of a page have, whose labels and faults lead to the first alone; and links to no id."""
    ids = Counter(re.findall(r'<[^>]*\bid="([^"]+)"', text))
    doubled = [name for name, count in ids.items() if count > 1]
    return doubled + [f"#{name}" for name in re.findall(r'href="#([^"]+)"', text) if name not in ids]


def lang_of(address: str) -> str | None:
    """The language that an address names."""
    return dict(parse_qsl(urlsplit(address).query)).get("lang")


def shape(address: str) -> tuple[str, ...]:
    """The address without what differs between records."""
    parts = urlsplit(address)
    return ID.sub("…", parts.path), *sorted(name for name, _ in parse_qsl(parts.query))


def walk(browser: Browser, *begin: str) -> Iterator[tuple[str, Any]]:
    """Every page that can be reached from some, a few of each shape."""
    waiting, seen, shapes = [*begin], {*begin}, Counter[tuple[str, ...]]()
    while waiting:
        address = waiting.pop(0)
        page = browser.get(address, headers={"Accept": "text/html", "Accept-Language": "en"})
        assert page.status_code in (200, 303, 405) or "no-such" in address, address
        if page.status_code == 405 or not page.headers.get("content-type", "").startswith("text/html"):
            continue
        assert broken_places(page.text) == [], address
        yield address, page
        for found in sorted(addresses(page) - seen):
            seen.add(found)
            if not FOREIGN.match(found) and lang_of(found) == lang_of(address):
                shapes[shape(found)] += 1
                waiting += [found] if shapes[shape(found)] <= OF_A_SHAPE else []


class Told(HTMLParser):
    """The texts of a page, and those that a reader hears or sees as a hint."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.silent: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in SILENT or given.get("translate") == "no":
            self.silent.append(tag)
        self.texts += [value for name in ("aria-label", "alt", "title", "placeholder") if (value := given.get(name))]

    def handle_endtag(self, tag: str) -> None:
        if self.silent and tag == self.silent[-1]:
            self.silent.pop()

    def handle_data(self, data: str) -> None:
        if not self.silent and data.strip():
            self.texts.append(" ".join(data.split()))


def english(page: Any) -> set[str]:
    """The texts of a page that are English sentences, or codes outside `<code>`."""
    return {text for text in Told(page.text).texts if ENGLISH.search(text) or CODE.search(text)}
