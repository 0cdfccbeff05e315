"""Fills the numbered points of Annex VIII of Regulation (EU) 2025/40 from a SKU's record.

Points and words are rows of `compliance/rules/drafts`. A point that the records cannot fill is marked as open, and
listed as missing; nothing is made up. What contradicts conformity, and what the record leaves open beside it
(`compliance.conformity`), are notes of the draft: they are for who issues it, and no part of the declaration.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Final, Literal, Self
from uuid import UUID

from compliance import conformity
from compliance.conformity import Verdict
from compliance.ruleset import RuleSet
from compliance.tables import RULES, rows
from pipelines.writing import present
from schemas.fields import SKU
from schemas.json_values import JsonMapping
from schemas.labels import format_word, word
from schemas.messages import translate
from schemas.numbers import number
from schemas.refusals import NotThere
from schemas.sku import SkuDetail
from schemas.technical_files import CONTENTS
from schemas.texts import isolated
from warehouse.sessions import Connection
from warehouse.skus import detail
from warehouse.skus.detail import Maker
from warehouse.technical_files import queries as technical_files
from warehouse.technical_files.queries import TechnicalFile

Lang = Literal["en", "fr", "de"]
_FOLDER: Final = RULES / "drafts"
_DIGITS: Final = 6
"""The most decimals of a weight or a measured value."""
_OBJECT: Final = ("sku_code", "name", "gtin", "packaging_level", "packaging_format", "weight_grams")
_STANDARDS: Final = "standards_list"
"""The technical file that names the standards applied (Annex VII, point 2(d))."""
_LEGISLATION: Final = "legislation"
"""The key of the point that states conformity. No line of it names a value: "in conformity" never stands beside one."""
_ADDITIONAL: Final = "additional"


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


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft in one language, as its `notice` says; `missing` are the headings of the open points."""

    lang: Lang
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
    def of(cls, stored: JsonMapping) -> Self:  # JSON that was stored
        """Return the draft that `as_dict` gave."""
        return cls(**{**stored, "points": [Point(**point) for point in stored["points"]]})


@dataclass(frozen=True, slots=True)
class Drawn:
    """A draft, and the verdict on the record that it was drawn from."""

    draft: Draft
    verdict: Verdict


def draft(conn: Connection, sku_id: UUID, *, reference: str, lang: Lang, now: datetime, rules: RuleSet) -> Drawn:
    """Draft the declaration for one SKU of the session's company. Raises `NotThere`."""
    found = detail.with_maker(conn, sku_id, now.date())
    files = technical_files.of_sku(conn, sku_id)
    if found is None:
        raise NotThere(f"There is no SKU {sku_id}.")
    (stored, maker), words = found, load_words(lang)
    record = present.record(stored)
    verdict = conformity.judge(record, rules, on=now.date())
    item = present.sku_detail(stored, record, rules=rules, graded_by=rules, doc_status="missing", today=now.date())
    filled = {
        "number": [isolated(reference)],
        "identification": [
            f"{words['sku_code']}: {isolated(item['sku_code'])}",
            *_labelled(item, ("gtin",), words, lang),
        ],
        "manufacturer": list(_manufacturer(maker, words)),
        "responsibility": [],
        "object": [*_labelled(item, _OBJECT, words, lang), *_components(item, words, lang)],
        "legislation": ["Regulation (EU) 2025/40", words["demonstrated"]],
        "standards": [_file(file, lang) for file in files if file.type == _STANDARDS],
        "notified_body": [],
        "additional": [*_substances(item, words, lang), *_additional(item, files, words, lang)],
        "signature": [],
    }
    notes = {_ADDITIONAL: list(notes_of(verdict, lang))}
    points = [_point(row, filled[row["key"]], notes.get(row["key"], []), lang, words) for row in _points()]
    made = Draft(
        lang,
        words["title"],
        words["draft"],
        reference,
        points,
        words["missing"],
        [f"{point.number}. {point.heading}" for point in points if not point.complete],
        f"{words['drawn_from']} {now:%Y-%m-%d %H:%M} UTC",
    )
    return Drawn(made, verdict)


def notes_of(verdict: Verdict, lang: Lang) -> Iterator[str]:
    """Yield what contradicts a declaration and what is open, each as a sentence of a draft in one language."""
    words = load_words(lang)
    for issue in verdict.against:
        yield f"{words['against']}: {translate(issue.message, lang)}"
    for point in verdict.open:
        yield f"{words['open']}: {translate(point.message, lang)}"


def in_todays_form(draft: Draft) -> Draft:
    """Return a draft of an earlier release as drafts are now: substances are additional information.

    The point that states conformity says what Article 39(1) of Regulation (EU) 2025/40 demands.
    """
    words = load_words(draft.lang)
    stated = next((point for point in draft.points if point.key == _LEGISLATION), None)
    if stated is None or words["demonstrated"] in stated.lines:
        return draft
    moved = [line for line in stated.lines if line.startswith(f"{words['substances']}: ")]
    kept = [line for line in stated.lines if line not in moved]
    lines = {_LEGISLATION: [*kept[:1], words["demonstrated"], *kept[1:]]}
    lines |= {point.key: [*moved, *point.lines] for point in draft.points if point.key == _ADDITIONAL}
    return replace(draft, points=[replace(point, lines=lines.get(point.key, point.lines)) for point in draft.points])


def says_above_a_limit(draft: Draft) -> bool:
    """Return whether a line says that PFAS or heavy metals are above their limit, whatever the record says by now."""
    words, status = load_words(draft.lang), word("substance_status", "above_limit", draft.lang)
    said = tuple(f"{words['substances']}: {words[f'substance.{name}']}: {status}" for name in ("pfas", "heavy_metals"))
    return any(line.startswith(said) for point in draft.points for line in point.lines)


def _point(row: Mapping[str, str], lines: list[str], notes: list[str], lang: Lang, words: Mapping[str, str]) -> Point:
    """Return a point; no record contains the manufacturer's address, so that point is always open."""
    open_point = row["needed"] == "yes" and (not lines or row["key"] == "manufacturer")
    shown = [*lines, words["to_complete"]] if open_point else lines
    return Point(int(row["point"]), row["key"], row[lang], shown, not open_point, row["source"], notes)


def _labelled(item: SkuDetail, names: tuple[str, ...], words: Mapping[str, str], lang: Lang) -> list[str]:
    shown: Mapping[str, object] = item
    return [f"{words[name]}: {_value_in_words(name, shown[name], lang)}" for name in names if shown[name] is not None]


def _value_in_words(name: str, stored: object, lang: Lang) -> str:
    """Return a field in the words of the language, codes of a vocabulary and figures included."""
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


def _components(item: SkuDetail, words: Mapping[str, str], lang: Lang) -> Iterator[str]:
    for line in item["components"]:
        grade = line["polymer_or_grade"]
        material = isolated(grade) if grade else word("material_family", str(line["material_family"]), lang)
        weight = "" if line["weight_g"] is None else f", {number(line['weight_g'], lang, _DIGITS)} g"
        yield f"{words['components']}: {word('component_type', line['component_type'], lang)}, {material}{weight}"


def _substances(item: SkuDetail, words: Mapping[str, str], lang: Lang) -> Iterator[str]:
    for name, entry in item["substances"].items():
        if entry is not None:
            status = word("substance_status", entry["status"], lang)
            value = entry.get("value")
            measured = "" if value is None else f", {number(value, lang, _DIGITS)} "
            unit = words[f"unit.{entry['unit']}"] if measured and entry.get("unit") else ""
            yield f"{words['substances']}: {words[f'substance.{name}']}: {status}{measured}{unit}"


def _additional(item: SkuDetail, files: Sequence[TechnicalFile], words: Mapping[str, str], lang: Lang) -> Iterator[str]:
    grade = item["recyclability_grade"]
    provisional = item["compliance"]["grade_trace"]["provisional"] and grade != "not_assessed"
    yield f"{words['grade']}: {words[f'grade.{grade}']}" + (f", {words['provisional']}" if provisional else "")
    listed = "; ".join(_file(file, lang) for file in files) or words["none"]
    yield f"{words['evidence']}: {listed}"


def _file(file: TechnicalFile, lang: Lang) -> str:
    about = ", ".join(isolated(part) for part in (file.reference, file.issuer, file.issued_on) if part)
    named = f"{CONTENTS[lang][file.type]}: {isolated(file.filename)}"
    return named + (f" ({about})" if about else "") + f", SHA-256 {file.sha256[:12]}…"


@lru_cache(maxsize=1)
def _points() -> tuple[dict[str, str], ...]:
    return tuple(rows(_FOLDER / "annex_viii.csv"))


@lru_cache(maxsize=3)
def load_words(lang: Lang) -> dict[str, str]:
    """Return the words of a draft in one language."""
    return {row["key"]: row[lang] for row in rows(_FOLDER / "words.csv")}
