"""Drafts the EU declaration of conformity: the content of Annex VIII from the records, and its open points.

A draft changes nothing and is no declaration: it is filed for review, and a person issues it or does not.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Final, Self
from uuid import UUID

import orjson
import typst

from compliance import conformity
from compliance.conformity import PointOfAnnex, Verdict
from compliance.ruleset import RuleSet
from schemas.actors import Actor
from schemas.conformity import POINT, Issuing
from schemas.fields import SKU
from schemas.issues import Issue
from schemas.json_values import JsonMapping
from schemas.messages import Message, format_word, number, translate, word
from schemas.normalise import quote
from schemas.refusals import NotThere, Refused
from schemas.skus.types import SkuDetail
from schemas.texts import isolated
from schemas.vocabularies import CONTENTS
from services.skus import detail as detail_skus
from warehouse import files as technical_files
from warehouse.files import NamedFile
from warehouse.operate.sessions import Connection
from warehouse.skus import queries
from warehouse.skus.queries import Maker

_DIGITS: Final = 6
"""The most decimals of a weight or a measured value."""
_OBJECT: Final = ("sku_code", "name", "gtin", "packaging_level", "packaging_format", "weight_grams")
_STANDARDS: Final = "standards_list"
"""The technical file that names the standards applied (Annex VII, point 2(d))."""
_ADDITIONAL: Final = "additional"
_PLASTIC: Final = "plastic"


@dataclass(frozen=True, slots=True)
class Point:
    """One point: its number in the Annex, heading, lines of content, and whether it is open.

    `notes` say what stands against the declaration and what is open; a declaration has none.
    """

    number: int
    key: str
    heading: str
    lines: list[str]
    complete: bool
    source: str
    notes: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Return the heading with the number that the Annex gives the point; number and signature have none there."""
        return f"{self.number}. {self.heading}" if 1 <= self.number <= 8 else self.heading


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft in one language, as its `notice` says; `missing` are the headings of the open points."""

    lang: str
    title: str
    notice: str
    reference: str
    points: list[Point]
    missing_heading: str
    missing: list[str]
    drawn_from: str

    def as_dict(self) -> dict[str, object]:
        """Return the draft as JSON types."""
        return asdict(self)

    @classmethod
    def from_stored(cls, stored: JsonMapping) -> Self:  # JSON that was stored
        """Return the draft that `as_dict` gave."""
        return cls(**{**stored, "points": [Point(**point) for point in stored["points"]]})


def draft(
    conn: Connection, actor: Actor, sku_id: UUID, *, reference: str, lang: str, rules: RuleSet
) -> tuple[Draft, Verdict]:
    """Draft the declaration for one SKU; return it with the verdict on the record.

    Raises `NotThere`, and `Refused` for a language that is not offered. No line of the point that states conformity
    names a value: "in conformity" never stands beside one.
    """
    words, stored = conformity.load_texts(lang), queries.with_maker(conn, sku_id, actor.today)
    files = technical_files.of_sku(conn, sku_id)
    if stored is None:
        raise NotThere(f"There is no SKU {sku_id}.")
    row, maker = stored
    record = detail_skus.record(row)
    verdict = conformity.judge(record, rules, on=actor.today)
    item = detail_skus.sku_detail(row, (rules, rules, None), today=actor.today, sku=record)
    lines_by_key = {
        "number": [isolated(reference)],
        "identification": [
            f"{words['sku_code']}: {isolated(item['sku_code'])}",
            *_labelled(item, ("gtin",), words, lang),
        ],
        "manufacturer": list(_manufacturer(maker, words)),
        "object": [*_labelled(item, _OBJECT, words, lang), *_components(item, words, lang)],
        "legislation": [words["regulation"], words["demonstrated"]],
        "standards": [_file(file, lang) for file in files if file.type == _STANDARDS],
        "notified_body": [words["no_notified_body"]],
        _ADDITIONAL: [*_by_article(item, words, lang), *_kept(item, files, rules, words, lang)],
    }
    notes = [f"{words['against']}: {translate(issue.message, lang)}" for issue in verdict.against]
    notes += [f"{words['open']}: {translate(point.message, lang)}" for point in verdict.open]
    notes_by_key = {_ADDITIONAL: notes}
    points = [
        _point(point, lines_by_key.get(point.key, []), notes_by_key.get(point.key, []), words)
        for point in conformity.points()
    ]
    made = Draft(
        lang,
        words["title"],
        words["draft"],
        reference,
        points,
        words["missing"],
        [point.title for point in points if not point.complete],
        f"{words['drawn_from']} {actor.now:%Y-%m-%d %H:%M} UTC",
    )
    return made, verdict


def is_outdated(draft: Draft) -> bool:
    """Return whether a draft has other fixed texts than a declaration has now, or its language is not offered."""
    if draft.lang not in conformity.offered_languages():
        return True
    texts = conformity.load_texts(draft.lang)
    return [point.heading for point in draft.points] != [texts[f"point.{point.key}"] for point in conformity.points()]


def _point(of_annex: PointOfAnnex, lines: list[str], notes: list[str], words: Mapping[str, str]) -> Point:
    """Return a point; no record contains the manufacturer's address, so that point is always open."""
    number, key, needed, _, source = of_annex
    is_open = needed and (not lines or key == "manufacturer")
    all_lines = [*lines, words["to_complete"]] if is_open else lines
    return Point(number, key, words[f"point.{key}"], all_lines, not is_open, source, notes)


def _labelled(item: SkuDetail, names: tuple[str, ...], words: Mapping[str, str], lang: str) -> list[str]:
    values: Mapping[str, object] = item
    return [
        f"{words[name]}: {_value_in_words(name, value, words, lang)}"
        for name in names
        if (value := values[name]) is not None
    ]


def _value_in_words(name: str, stored: object, words: Mapping[str, str], lang: str) -> str:
    """Return a field in the words of the language, codes of a vocabulary and figures included."""
    if isinstance(stored, bool):
        return words["yes" if stored else "no"]
    if isinstance(stored, float):
        return number(stored, lang, _DIGITS)
    vocabulary = SKU[name].vocabulary
    if name == "packaging_format":
        return format_word(str(stored), lang)
    return word(vocabulary, str(stored), lang) if vocabulary else isolated(str(stored))


def _manufacturer(maker: Maker, words: Mapping[str, str]) -> Iterator[str]:
    yield f"{words['company']}: {isolated(maker.company_name)}"
    if maker.brand_name:
        yield f"{words['brand']}: {isolated(maker.owner_name or maker.brand_name)}"
    if maker.site_name:
        place = ", ".join(isolated(part) for part in (maker.site_name, maker.city, maker.country) if part)
        yield f"{words['site']}: {place}"


def _components(item: SkuDetail, words: Mapping[str, str], lang: str) -> Iterator[str]:
    for line in item["components"]:
        grade = line["polymer_or_grade"]
        material = isolated(grade) if grade else word("material_family", str(line["material_family"]), lang)
        weight = "" if line["weight_g"] is None else f", {number(line['weight_g'], lang, _DIGITS)} g"
        yield f"{words['components']}: {word('component_type', line['component_type'], lang)}, {material}{weight}"


def _by_article(item: SkuDetail, words: Mapping[str, str], lang: str) -> Iterator[str]:
    """Yield what the record says on Articles 5 to 12, in their order; nothing where it is silent.

    Article 7 is about plastic alone.
    """
    for name, entry in item["substances"].items():
        if entry is not None:
            status = word("substance_status", entry["status"], lang)
            value = entry.get("value")
            measured = "" if value is None else f", {number(value, lang, _DIGITS)} "
            unit = words[f"unit.{entry['unit']}"] if measured and entry.get("unit") else ""
            yield f"{words['substances']}: {words[f'substance.{name}']}: {status}{measured}{unit}"
    grade = item["recyclability_grade"]
    provisional = item["compliance"]["grade_trace"]["provisional"] and grade != "not_assessed"
    yield f"{words['grade']}: {words[f'grade.{grade}']}" + (f", {words['provisional']}" if provisional else "")
    if item["material"] == _PLASTIC:
        yield from _labelled(item, ("recycled_content_percent",), words, lang)
    for line in item["components"]:
        share = line["recycled_content_percent"]
        if line["material_family"] == _PLASTIC and share is not None:
            part = word("component_type", line["component_type"], lang)
            yield f"{words['recycled_content_percent']}: {part}: {number(share, lang, _DIGITS)}"
    yield from _labelled(item, ("reusable", "sorting_label_scheme"), words, lang)


def _kept(
    item: SkuDetail, files: Sequence[NamedFile], rules: RuleSet, words: Mapping[str, str], lang: str
) -> Iterator[str]:
    """Yield the technical files, and for how long they and the declaration are kept; both terms where it is open."""
    yield f"{words['evidence']}: {'; '.join(_file(file, lang) for file in files) or words['none']}"
    kinds = (False, True) if item["reusable"] is None else (item["reusable"],)
    terms = [
        words["retention.reusable" if reusable else "retention.single_use"].format(
            years=conformity.retention_years(rules, reusable=reusable)
        )
        for reusable in kinds
    ]
    yield f"{words['retention']}: {'; '.join(terms)}"


def _file(file: NamedFile, lang: str) -> str:
    about = ", ".join(isolated(part) for part in (file.reference, file.issuer, file.issued_on) if part)
    sentence = f"{CONTENTS[lang][file.type]}: {isolated(file.filename)}"
    return sentence + (f" ({about})" if about else "") + f", SHA-256 {file.sha256[:12]}…"


SIGNATURE: Final = "signature"
"""The key of the point that the signature completes."""
_SIGNATURE_LINE: Final = "_" * 40
"""The line for a signature by hand."""


def open_points(draft: Draft) -> list[Point]:
    """Return the points that a person has to complete, without the signature, which every draft leaves open."""
    return [point for point in draft.points if not point.complete and point.key != SIGNATURE]


def points_to_add_to(draft: Draft) -> list[Point]:
    """Return the points that the records complete and to which a person may add."""
    addable = {point.key for point in conformity.points() if point.adds}
    return [point for point in draft.points if point.complete and point.key in addable]


def declaration(draft: Draft, form: Issuing) -> Draft:
    """Return the declaration of a draft; it has neither notice nor notes, and nothing is missing in it.

    `form` has a text for each of `open_points`, and for some of `points_to_add_to`. The text from the records stays
    before it.
    """
    words = conformity.load_texts(draft.lang)
    signature_lines = [
        isolated(form.on_behalf_of),
        f"{words['place_and_date']}: {isolated(form.place)}, {form.issued_on}",
        f"{words['name_and_signature']}: {isolated(form.signatory)}, {isolated(form.function)}",
        _SIGNATURE_LINE,
    ]
    lines_by_key = {key: [isolated(line) for line in text.splitlines()] for key, text in form.points.items()} | {
        SIGNATURE: signature_lines
    }
    points = [_complete(point, lines_by_key, words["to_complete"]) for point in draft.points]
    return replace(draft, notice="", points=points, missing=[])


def _complete(point: Point, lines_by_key: dict[str, list[str]], to_complete: str) -> Point:
    lines = point.lines if point.complete else [line for line in point.lines if line != to_complete]
    added = lines_by_key.get(point.key, []) if point.complete else lines_by_key[point.key]
    return replace(point, lines=[*lines, *added], complete=True, notes=[])


_TEMPLATE: Final = Path(__file__).parent / "declaration.typ"
_STANDARD: Final = "a-3a"
"""PDF/A-3, level A (ISO 19005-3): tagged, every font embedded. typst refuses a character that no font has."""
_FONTS: Final = "static/weblate_fonts/kurinto/ttf"
_MOST_NAMED: Final = 5
"""Characters that one refusal names."""


def pdf(draft: Draft) -> bytes:
    """Return the draft as a tagged PDF (PDF/A-3a), with the fonts of `weblate-fonts`.

    Raises `Refused` where no font has a character: an issue for each such line, whose field is `point.<key>`.
    """
    try:
        return _compile(draft)
    except typst.TypstError:
        issues = [
            Issue("invalid_format", sentence, f"{POINT}{point.key}")
            for point in draft.points
            for line in (*point.lines, *point.notes)
            if (sentence := unprintable_line(line)) is not None
        ]
        if not issues:
            raise
        raise Refused(issues) from None


def unprintable(text: str) -> Message | None:
    """Return a sentence with the characters of a form's text that no font has; None where it can be printed."""
    if not (characters := _without_font(text)):
        return None
    return Message("A declaration has no font for {characters}; write this without.", characters=characters)


def unprintable_line(line: str) -> Message | None:
    """Return the same of a line that was drawn from the record."""
    if not (characters := _without_font(line)):
        return None
    return Message(
        "A declaration has no font for {characters} in the line {line}; correct the record and prepare a new draft.",
        characters=characters,
        line=quote(line),
    )


def _without_font(text: str) -> str:
    """Return the first characters that no font has, or the text where only their combination has none; "" for none."""
    if _is_printable(text):
        return ""
    letters = list(islice(_each_without_font("".join(dict.fromkeys(text))), _MOST_NAMED))
    return ", ".join(f"{letter} (U+{ord(letter):04X})" for letter in letters) or text


def _each_without_font(letters: str) -> Iterator[str]:
    """Halve what cannot be printed until one character is left: some ten trials for each that is found."""
    if _is_printable(letters):
        return
    if len(letters) == 1:
        yield letters
        return
    half = len(letters) // 2
    yield from _each_without_font(letters[:half])
    yield from _each_without_font(letters[half:])


def _is_printable(text: str) -> bool:
    try:
        _compile(Draft("en", "", "", "", [Point(0, "", "", [text], complete=True, source="")], "", [], ""))
    except typst.TypstError:
        return False
    return True


def _compile(draft: Draft) -> bytes:
    return typeset(_TEMPLATE, "draft", draft.as_dict())


def printable(texts: Sequence[str]) -> list[str]:
    """Return texts without the characters that no font has."""
    without = dict.fromkeys(map(ord, _each_without_font("".join(dict.fromkeys("".join(texts))))))
    return [text.translate(without) for text in texts]


def typeset(template: Path, name: str, content: JsonMapping) -> bytes:
    """Return the tagged PDF of a template, which reads its content from the input of this name.

    Raises `typst.TypstError` where no font has a character.
    """
    made = typst.compile(
        template.read_bytes(),
        format="pdf",
        sys_inputs={name: orjson.dumps(content).decode()},
        font_paths=_fonts(),
        ignore_system_fonts=True,
        pdf_standards=_STANDARD,
    )
    assert isinstance(made, bytes), "one document is compiled"
    return made


@lru_cache(maxsize=1)
def _fonts() -> typst.Fonts:
    """Return the fonts of the package, which are read once; a font's file is read when a letter needs it."""
    return typst.Fonts(include_system_fonts=False, font_paths=[str(files("weblate_fonts") / _FONTS)])
