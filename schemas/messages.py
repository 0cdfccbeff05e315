"""Messages to callers: English texts that know their template and parameters, so that they can be read in any language.

The code that finds a fault makes a `Message` of a template and its parameters; the text itself is the English one.
`translate` looks the template up in the catalogue `locales/*/LC_MESSAGES/messages.po` (gettext) and fills in the same
parameters. A parameter that is a phrase of the service is a `Message` too; what a caller sent is never translated.
Which language an answer has is chosen in `api.http.answers`; short labels are in `messages.py`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Self  # Any: values of any kind, searched for messages
from unicodedata import normalize

import orjson
from babel import Locale
from babel.dates import format_date, format_skeleton, format_time
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from babel.numbers import get_decimal_symbol, get_group_symbol

from schemas.fields import Field
from schemas.vocabularies import CONTENTS, TYPES, table_rows

LANGUAGES: Final = ("en", "fr", "de")


@cache
def supplier_words() -> Mapping[str, Mapping[tuple[str, str], str]]:
    """Return what suppliers' pages say in languages that only they have: language -> (kind, name) -> text.

    A kind is `text` (a key of the pages), `message` (an English template), `word` (`vocabulary.code`), `header` or
    `meaning` (a component's field). A language is a column; one with an empty cell is not offered.
    """
    rows = list(table_rows("supplier_words.csv"))
    columns = {lang: {(row["kind"], row["name"]): row[lang] for row in rows} for lang in list(rows[0])[2:]}
    return {lang: words for lang, words in columns.items() if all(words.values())}


def supplier_languages() -> tuple[str, ...]:
    """Return the languages of the pages, workbooks and mails of suppliers."""
    return (*LANGUAGES, *supplier_words())


@cache
def _supplier_codes() -> Mapping[tuple[str, str], str]:
    named = [
        (name.split("."), text)
        for words in supplier_words().values()
        for (kind, name), text in words.items()
        if kind == "word"
    ]
    return {(vocabulary, as_typed(text)): code for (vocabulary, code), text in named}


def code_of_supplier_word(text: str, vocabulary: str) -> str | None:
    """Return the code whose word a text is in a language that only suppliers' pages have."""
    return _supplier_codes().get((vocabulary, as_typed(text)))


def as_typed(text: str) -> str:
    """Return a text as words and titles of any script are compared: without case, widths and runs of white space."""
    return " ".join(normalize("NFKC", text).casefold().split())


def header(table: str, field: str, lang: str) -> str:
    """Return the header of a field of the table `sku` or `component`."""
    if lang not in LANGUAGES:
        return supplier_words()[lang].get(("header", field), field)
    return _first("headers.csv", "table", "field", "header").get((table, field, lang), field)


def word(vocabulary: str, code: str, lang: str) -> str:
    """Return the word for a code of a vocabulary."""
    if lang not in LANGUAGES:
        return supplier_words()[lang]["word", f"{vocabulary}.{code}"]
    key = (vocabulary, code, lang)
    return _first("words.csv", "vocabulary", "code", "word").get(key) or _display_words().get(key, code)


def format_word(text: str, lang: str) -> str:
    """Return the word for a kind of packaging where the free text is the name of one; return other texts unchanged."""
    key = "_".join(text.lower().replace("-", " ").replace("_", " ").split())
    return _display_words().get(("packaging_format_key", key, lang), text)


def contents(lang: str) -> Mapping[str, str]:
    """Return what each type of technical file holds, in words."""
    return CONTENTS[lang] if lang in LANGUAGES else {code: word("technical_file_type", code, lang) for code in TYPES}


def meaning(table: str, field: Field, lang: str) -> str:
    """Return a field's meaning in a sentence: its own English one where `meanings.csv` has no translation."""
    if lang not in LANGUAGES:
        return supplier_words()[lang]["meaning", field.name]
    return _first("meanings.csv", "table", "field", "meaning").get((table, field.name, lang), field.meaning)


@cache
def _display_words() -> Mapping[tuple[str, str, str], str]:
    """Return the words that are only shown, by vocabulary, code and language."""
    rows = table_rows("shown_words.csv")
    return {(row["vocabulary"], row["code"], lang): row[lang] for row in rows for lang in LANGUAGES}


@cache
def _first(file: str, group: str, name: str, text: str) -> Mapping[tuple[str, str, str], str]:
    """Return the first text of each (group, name, language) of a table."""
    templates: dict[tuple[str, str, str], str] = {}
    for row in table_rows(file):
        templates.setdefault((row[group], row[name], row["lang"]), row[text])
    return templates


ORIGINAL: Final = LANGUAGES[0]
"""The language of the templates."""
_LOCALES: Final = Path(__file__).parent / "locales"
_ONLY_ENGLISH: Final = "In English: {sentence}"
_TEMPLATE: Final = "$template"
_FIGURE: Final = "$figure"
_BEGINNING: Final = f'{{"{_TEMPLATE}"'
_PLAIN: Final = re.compile(r"(?:[^{}]|\{\{|\}\}|\{\w+\})*")


class Figure(str):
    """A parameter that is a number of the service, written with a point; each language has its decimal mark."""

    __slots__ = ()


class Message(str):
    """An English text with the template and the parameters that it was made of."""

    __slots__ = ("parameters", "template")
    template: str
    parameters: Mapping[str, object]

    def __new__(cls, template: str, /, **parameters: object) -> Self:
        """`template` is a constant text with gaps as for `str.format`, each filled by the parameter of its name."""
        message = super().__new__(cls, template.format_map(parameters))
        message.template, message.parameters = template, parameters
        return message

    def __str__(self) -> str:
        """Return the message itself: `str` of an exception stays a message."""
        return self

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the message with each text among its parameters changed."""
        return type(self)(self.template, **{name: _changed(value, change) for name, value in self.parameters.items()})

    def with_parameter(self, name: str, value: object) -> Self:
        """Return the message with another value of one parameter."""
        return type(self)(self.template, **{**self.parameters, name: value})

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        """Copy and pickle by template and parameters."""
        return (self.template,), dict(self.parameters)


def message_of(text: str) -> Message:
    """Return a text as the message that it is, or one without gaps; what the catalogue lacks stays English."""
    return text if isinstance(text, Message) else Message(text.replace("{", "{{").replace("}", "}}"))


def translate(text: str, lang: str) -> str:
    """Return a message in a language; a plain text is translated where it is a whole template.

    What the catalogue lacks stays English, such as a report that was stored with its text alone. In a language that
    only suppliers' pages have, a message says so.
    """
    if lang == ORIGINAL:
        return text
    message = message_of(text)
    template = _templates(lang).get(message.template)
    if template is None:
        is_silent = lang in LANGUAGES or not isinstance(text, Message)
        return text if is_silent else _templates(lang)[_ONLY_ENGLISH].format(sentence=text)
    return template.format_map({name: filled(value, lang) for name, value in message.parameters.items()})


def _changed(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, Message):
        return value.with_texts(change)
    return change(value) if isinstance(value, str) and not isinstance(value, Figure) else value


def filled(value: object, lang: str) -> object:
    """Return what fills a gap in a language: messages translated, figures with its decimal mark, others as they are."""
    match value:
        case Message():
            return translate(value, lang)
        case Figure():
            return value.replace(".", decimal_mark(lang))
    return value


@cache
def _templates(lang: str) -> Mapping[str, str]:
    """Return the translations of a language by their templates."""
    if lang not in LANGUAGES:
        return {name: text for (kind, name), text in supplier_words()[lang].items() if kind == "message"}
    return {entry.id: str(entry.string) for entry in catalogue(lang) if entry.id and isinstance(entry.id, str)}


def catalogue(lang: str) -> Catalog:
    """Return the catalogue of a language as it is in its file."""
    with (_LOCALES / lang / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, locale=lang)


def to_json(message: Message) -> str:
    """Return a message as its template and parameters, in a text that `from_json` reads back."""
    return orjson.dumps(_plain(message)).decode()


@lru_cache(maxsize=4096)
def from_json(text: str) -> Message:
    """Return the message that `to_json` was given; a text alone, from before there were templates, is a constant."""
    if not text.startswith(_BEGINNING):
        return message_of(text)
    message: Message = _message(orjson.loads(text))
    return message


def stored_template(message: str) -> str | None:
    """Return what is stored beside a message's English text: None where the text is the whole template."""
    return to_json(message) if isinstance(message, Message) and message.parameters else None


def templates(value: Any) -> dict[str, str]:
    """Return what is stored beside plain values: for each message with parameters its `to_json`, by its English."""
    match value:
        case Message():
            return {value: to_json(value)} if value.parameters else {}
        case Mapping():
            return _merged(value.values())
        case list() | tuple():
            return _merged(value)
    return {}


def stored_message(english: str, by_english: Mapping[str, str]) -> str:
    """Return the message of an English text, where `templates` stored one beside it."""
    return from_json(by_english[english]) if english in by_english else english


def _merged(values: Iterable[Any]) -> dict[str, str]:
    return {english: text for value in values for english, text in templates(value).items()}


def _plain(value: object) -> object:
    if isinstance(value, Message):
        return {_TEMPLATE: value.template, **{name: _plain(parameter) for name, parameter in value.parameters.items()}}
    if isinstance(value, Figure):
        return {_FIGURE: value}
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _message(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if _FIGURE in value:
        return Figure(value[_FIGURE])
    template = str(value.pop(_TEMPLATE))
    if not _has_plain_gaps(template):
        return message_of(template)
    return Message(template, **{name: _message(parameter) for name, parameter in value.items()})


@lru_cache(maxsize=1024)
def _has_plain_gaps(template: str) -> bool:
    """Return whether gaps are names alone: a template that was read may not reach into its parameters."""
    return _PLAIN.fullmatch(template) is not None


_OF_EUROPE: Final = {"en": "en_GB"}
"""Where the language alone would be another continent's: days are written `1 November 2026`."""
_ANY: Final = Context(prec=400)
"""Enough digits for every double: 309 before the decimal mark, and the requested ones after it."""


@cache
def _locale(lang: str) -> Locale:
    return Locale.parse(_OF_EUROPE.get(lang, lang))


@cache
def decimal_mark(lang: str) -> str:
    """Return what stands before the decimals in a language."""
    return get_decimal_symbol(_locale(lang))


@cache
def _group_mark(lang: str) -> str:
    return get_group_symbol(_locale(lang))


def day(value: date | str, lang: str) -> str:
    """Write a day, or the text `2026-11-01` of one, in words: `1 November 2026`, `1. November 2026`."""
    date_of_value = date.fromisoformat(value) if isinstance(value, str) else value
    return format_date(date_of_value, "long", _locale(lang))


def day_of_year(value: date, lang: str) -> str:
    """Write a day that stands under its year in words: `1 November`, `1. November`."""
    return format_skeleton("MMMMd", value, locale=_locale(lang))


def instant(value: datetime, lang: str) -> str:
    """Write an instant to the minute, in UTC: `1 November 2026, 09:30 UTC`, `1. November 2026, 09:30 UTC`."""
    at = value.astimezone(UTC)
    return f"{day(at, lang)}, {format_time(at, 'short', locale=_locale(lang))} UTC"


def is_one(count: int, lang: str) -> bool:
    """Return whether a language counts the number as one: 1, and in French 0 too."""
    return _locale(lang).plural_form(count) == "one"


def number(value: float | Decimal, lang: str, digits: int = 0) -> str:
    """Format a number with at most `digits` decimals, rounded half away from zero, without trailing zeros."""
    rounded = Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _ANY)
    rounded = rounded or abs(rounded)  # no minus before 0
    whole, _, decimals = f"{rounded:,f}".partition(".")
    decimals = decimals.rstrip("0")
    return whole.replace(",", _group_mark(lang)) + (decimal_mark(lang) + decimals if decimals else "")


def plain(value: float | Decimal, lang: str) -> str:
    """Format a number for an input: the language's decimal mark, no groups, all its digits."""
    return f"{Decimal(str(value)):f}".removesuffix(".0").replace(".", decimal_mark(lang))
