"""Guides for users: the documents of `docs/` that are theirs, as pages and as the sections that a search looks in.

They are read where the code is installed, as `dagster.yaml` is. Documents of the operator, decisions and the
contract are not served: a link to one of them, or to elsewhere, is shown as its words.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from fastapi import APIRouter
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import cacheable
from api.http.errors import HttpRefusal
from api.reference.pages import HEADERS, KEPT_SECONDS, framed
from schemas.words import fold

FOLDER: Final = Path(__file__).parents[2] / "docs"
GROUPS: Final = MappingProxyType(
    {
        "Connecting a system": ("api", "migration", "access", "writing", "imports", "changes", "files"),
        "What the figures mean": ("grading", "analytics", "figures", "declarations", "auditor", "audit"),
        "For people in a browser": ("pages", "suppliers"),
        "For assistants": ("connector", "connector-tools"),
    }
)
"""The guides by group, both in their order; each is a file of `docs/` and the last part of its address."""
ADDRESS: Final = "/reference/guides"
_NAMES: Final = frozenset(name for names in GROUPS.values() for name in names)
_TO_A_GUIDE: Final = re.compile(r"([a-z-]+)\.md((?:#.*)?)")
_PICTURE: Final = re.compile(r"[a-z]+/[a-z0-9-]+\.(?:png|webp)")
_NOT_IN_ANCHORS: Final = re.compile(r"[^\w\- ]")
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table")
_MARKDOWN.add_render_rule("table_open", lambda *_: '<div class="scrolled" tabindex="0">\n<table>\n')
_MARKDOWN.add_render_rule("table_close", lambda *_: "</table>\n</div>\n")


@dataclass(slots=True)
class Section:
    """A heading with what follows it up to the next one."""

    guide: str
    headings: tuple[str, ...]
    """From the guide's title down to its own."""
    anchor: str
    level: int
    texts: list[str] = field(default_factory=list)
    """Paragraphs, rows of tables and blocks of code, without markup."""

    @property
    def address(self) -> str:
        """Return where it stands; the part before the first heading is the page itself."""
        return f"{ADDRESS}/{self.guide}" + (f"#{self.anchor}" if self.level > 1 else "")


@dataclass(frozen=True, slots=True)
class Guide:
    """A guide as it is shown."""

    name: str
    title: str
    body: Markup
    sections: tuple[Section, ...]
    pictures: frozenset[str]
    """Files below `FOLDER` that it shows or links to."""


@cache
def guides() -> MappingProxyType[str, Guide]:
    """Return all guides by name, read once."""
    return MappingProxyType(
        {name: _guide(name, (FOLDER / f"{name}.md").read_text(encoding="utf-8")) for name in sorted(_NAMES)}
    )


def _guide(name: str, text: str) -> Guide:
    tokens = _MARKDOWN.parse(text)
    sections = _sections(name, tokens)
    pictures = frozenset(
        address for token in tokens for address in _addresses(token.children or ()) if _PICTURE.fullmatch(address)
    )
    for token in tokens:
        _fit(token)
    body = _MARKDOWN.renderer.render(tokens[3:], _MARKDOWN.options, {})  # the title is the page's own heading
    return Guide(name, sections[0].headings[0], Markup(body), tuple(sections), pictures)  # noqa: S704 (our own documents)


def _sections(guide: str, tokens: list[Token]) -> list[Section]:
    """Return the sections, and give each heading the anchor that links between documents use."""
    sections: list[Section] = []
    seen: Counter[str] = Counter(content=1)  # the page's own place
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            title, level = _plain(tokens[place + 1]), int(token.tag[1])
            above = next((section.headings for section in reversed(sections) if section.level < level), ())
            anchor = _NOT_IN_ANCHORS.sub("", title.lower()).replace(" ", "-")
            seen[anchor] += 1
            anchor += f"-{seen[anchor] - 1}" if seen[anchor] > 1 else ""
            token.attrSet("id", anchor)
            sections.append(Section(guide, (*above, title), anchor, level))
        elif token.type == "fence":
            sections[-1].texts.append(token.content)
        elif token.type == "tr_open":
            sections[-1].texts.append(" · ".join(_row(tokens, place)))
        elif token.type == "inline" and tokens[place - 1].type not in ("heading_open", "th_open", "td_open"):
            sections[-1].texts.append(_plain(token))
    return sections


def _row(tokens: list[Token], place: int) -> Iterator[str]:
    for token in tokens[place:]:
        if token.type == "tr_close":
            return
        if token.type == "inline":
            yield _plain(token)


def _plain(inline: Token) -> str:
    texts = (" " if child.type == "softbreak" else child.content for child in inline.children or ())
    return "".join(texts)


def _addresses(children: list[Token] | tuple[()]) -> Iterator[str]:
    for child in children:
        yield str(child.attrGet("href") or child.attrGet("src") or "")


def _fit(token: Token) -> None:
    """Fit a token to the page: no inline style, code that a keyboard can scroll, links that lead somewhere here."""
    token.attrs.pop("style", None)
    if token.type == "fence":
        token.type, token.info = "code_block", ""
        token.attrSet("tabindex", "0")
    elif token.type == "th_open":
        token.attrSet("scope", "col")
    leads: list[bool] = []
    for child in token.children or ():
        if child.type == "link_open":
            address = _served(str(child.attrGet("href")))
            leads.append(bool(address))
            child.attrSet("href", address)
        is_end = child.type == "link_close"
        if (child.type == "link_open" and not leads[-1]) or (is_end and not leads.pop()):
            child.type, child.tag, child.content = "text", "", ""
        elif child.type == "image":
            child.attrSet("src", _served(str(child.attrGet("src"))))


def _served(address: str) -> str:
    """Return the address here of what a document links to; empty for what is not served."""
    if (to := _TO_A_GUIDE.fullmatch(address)) and to[1] in _NAMES:
        return f"{ADDRESS}/{to[1]}{to[2]}"
    if _PICTURE.fullmatch(address):
        return f"{ADDRESS}/{address}"
    return address if address.startswith("#") else ""


MOST: Final = 30
"""Sections shown of one search."""
_MOST_WORDS: Final = 8
_MOST_CHARACTERS: Final = 200
_AROUND: Final = 160
"""Characters of a text shown before and after the first word found."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that was found, with the text in it that has most of the words."""

    section: Section
    text: Markup


@dataclass(frozen=True, slots=True)
class _Looked:
    """A section as it is looked at."""

    section: Section
    headings: str
    texts: tuple[str, ...]


def search(question: str) -> list[Hit]:
    """Return the sections with all words, best first: those with more of the words in their headings."""
    words = list(dict.fromkeys(fold(question[:_MOST_CHARACTERS]).split()))[:_MOST_WORDS]
    if not words:
        return []
    ranked: list[tuple[int, int, int, _Looked]] = []
    for place, looked in enumerate(_all()):
        if all(word in looked.headings or any(word in text for text in looked.texts) for word in words):
            in_headings = sum(word in looked.headings for word in words)
            together = max((sum(word in text for word in words) for text in looked.texts), default=0)
            ranked.append((-in_headings, -together, place, looked))
    return [_hit(looked, words) for *_, looked in sorted(ranked, key=lambda hit: hit[:3])]


@cache
def _all() -> tuple[_Looked, ...]:
    return tuple(
        _Looked(section, fold(" ".join(section.headings)), tuple(map(fold, section.texts)))
        for guide in guides().values()
        for section in guide.sections
    )


def _hit(looked: _Looked, words: list[str]) -> Hit:
    best = max(
        range(len(looked.texts)), key=lambda place: sum(word in looked.texts[place] for word in words), default=None
    )
    return Hit(looked.section, Markup() if best is None else _marked(looked.section.texts[best], words))


def _marked(text: str, words: list[str]) -> Markup:
    """Return the text around the first word, cut at spaces, with the words marked where one begins."""
    any_word = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    pattern = re.compile(rf"\b(?:{any_word})", re.IGNORECASE)
    first = pattern.search(text)
    begin = max(0, first.start() - _AROUND) if first else 0
    end = begin + 2 * _AROUND
    if begin:
        begin = text.find(" ", begin) + 1
    if end < len(text):
        end = max(text.rfind(" ", begin, end), begin + 1)
    excerpt = text[begin:end]
    return Markup().join(
        (Markup("… ") if begin else "", *_pieces(pattern, excerpt), Markup(" …") if end < len(text) else "")
    )


def _pieces(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    done = 0
    for match in pattern.finditer(text):
        yield text[done : match.start()]
        yield Markup("<mark>{}</mark>").format(match[0])
        done = match.end()
    yield text[done:]


router = APIRouter(prefix="/reference/guides", include_in_schema=False)

_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Final = {**HEADERS, "Content-Security-Policy": _POLICY, "Content-Language": "en"}


@router.get("")
def get_guides(request: Request) -> Response:
    """All guides, or where the words of `q` stand in them."""
    question = request.query_params.get("q", "").strip()
    values = {"question": question, "hits": search(question), "most": MOST, "groups": GROUPS, "guides": guides()}
    return _page(request, "guides.html", values)


@router.get("/{name}")
def get_guide(request: Request, name: str) -> Response:
    """One guide."""
    if name not in guides():
        raise HttpRefusal("not_found")
    return _page(request, "guide.html", {"guide": guides()[name]})


@router.get("/{folder}/{picture}")
def get_picture(request: Request, folder: str, picture: str) -> Response:
    """Answer a picture that a guide shows."""
    name = f"{folder}/{picture}"
    if not any(name in guide.pictures for guide in guides().values()):
        raise HttpRefusal("not_found")
    return cacheable(
        request, (FOLDER / name).read_bytes(), f"image/{name.rpartition('.')[2]}", seconds=KEPT_SECONDS, headers=HEADERS
    )


def _page(request: Request, template: str, values: Mapping[str, object]) -> Response:
    text = framed(request.app.openapi(), template, {"page": "guides", **values})
    return cacheable(request, text.encode(), "text/html", seconds=KEPT_SECONDS, headers=_HEADERS)
