"""Says which evidence the record holds for Articles 5 to 12 and what is missing, and makes a declaration's bundle."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast  # Any: a file's record, a SKU's fields
from uuid import UUID

import orjson

from compliance import evidence as rules
from compliance.catalogue import eu_codes
from compliance.scopes import FIRST_YEAR_IN_EFFECT
from schemas.actors import Actor
from schemas.fields import COMPONENT_FIELDS
from schemas.files import EVIDENCE_STATES, EvidencePage, EvidenceRecord
from schemas.json_values import json_number
from schemas.messages import Message, translate
from schemas.normalise import TERRITORIES
from schemas.refusals import NotThere, require
from schemas.vocabularies import CONTENTS
from services.conformity import documents
from services.filings.files import csv_of
from services.skus import detail
from warehouse import conformity
from warehouse import evidence as stored
from warehouse.evidence import ProvedSku, Proving
from warehouse.operate.sessions import Connection
from warehouse.rules import Rulesets
from warehouse.skus import archive

_ARTICLES: Final = tuple(f"article_{article}" for article in rules.articles())
_COLUMNS: Final = ("sku_code", "name", *_ARTICLES)
_INDEX: Final = (
    *("path", "included", "kind", "type", "articles", "filename", "sha256", "size_bytes", "reference", "issuer"),
    *("issued_on", "expires_on", "state", "component_ids"),
)
_OF_ARTICLES: Final = ("article", "need", "state", "applies_from", "reference", "sentence", "reason", "files")
_IN_UNION: Final = {"in": True, "out": False, "unknown": None}
_NOT_LISTED: Final = ("later", rules.HELD, rules.NOT_CONCERNED)
_NO_NAME: Final = re.compile(r'[<>:"|?*\\/]')
"""What no name of a file in an archive may hold."""


def _proving(actor: Actor) -> Proving:
    """Return what SKUs are summed up by; a SKU of any place in the Union is in it."""
    union = sorted({*(code[:2] for code in eu_codes()), *TERRITORIES})
    return Proving(*rules.proving(), actor.today, rules.last_soon(actor.today), union, FIRST_YEAR_IN_EFFECT)


@lru_cache(maxsize=8192)
def _judged(facts: str, held: str, today: date) -> tuple[rules.Need, ...]:
    return tuple(rules.judge(rules.Facts(*orjson.loads(facts)), orjson.loads(held), today))


@lru_cache(maxsize=8192)
def _states(facts: str, held: str, today: date) -> Mapping[int, str]:
    return rules.by_article(_judged(facts, held, today))


def read(conn: Connection, actor: Actor, sku_id: UUID) -> EvidenceRecord:
    """Return the evidence of a SKU by article, and the files that name none. Raise `NotThere`."""
    sku = require(next(iter(stored.skus(conn, _proving(actor), ids=[sku_id])), None))
    return _record(sku, stored.every(conn, sku_id), actor)


def _record(sku: ProvedSku, every: Iterable[Mapping[str, Any]], actor: Actor) -> EvidenceRecord:
    judged, lang = _judged(sku.facts, sku.held, actor.today), actor.lang
    of_need: dict[str, list[dict[str, Any]]] = {"": [], **{need.key: [] for need in judged}}
    for file in every:
        row = rules.types()[file["type"]]
        state = rules.file_state(file["expires_on"], actor.today)
        shown = {name: value for name, value in file.items() if name != "size_bytes"}
        of_need[row["need"]].append(shown | {"kind": row["kind"], "alone": row["alone"] == "Y", "state": state})
    needs = [
        {
            "article": need.article,
            "need": need.key,
            "state": need.state,
            **rules.said(need.key, lang),
            **rules.why(need.reason, lang),
            "files": of_need[need.key],
        }
        for need in judged
    ]
    articles = [
        {
            "article": article,
            "state": state,
            "needs": [
                {name: value for name, value in need.items() if name != "article"}
                for need in needs
                if need["article"] == article
            ],
        }
        for article, state in rules.by_article(judged).items()
    ]
    place = rules.Facts(*orjson.loads(sku.facts)).place
    record = {"id": sku.id, "sku_code": sku.sku_code, "in_union": _IN_UNION[place], "articles": articles}
    return cast(EvidenceRecord, {**record, "other_files": of_need[""]})


def page(
    conn: Connection, actor: Actor, *, article: int | None = None, state: str | None = None, limit: int, offset: int = 0
) -> EvidencePage:
    """Return a page of SKUs by code and all in sums; with a `state` those in it, in one article or in any."""
    groups = stored.groups(conn, _proving(actor))
    counts = {number: Counter[str]() for number in rules.articles()}
    alike, total = [], 0
    for facts, held, skus in groups:
        states = _states(facts, held, actor.today)
        for number, of_article in states.items():
            counts[number][of_article] += skus
        if state is None or state in ([states[article]] if article else states.values()):
            alike.append(facts + held)
            total += skus
    if state is None:
        listed = stored.skus(conn, _proving(actor), ids=stored.ids_by_code(conn, limit, offset))
    else:
        listed = stored.skus(conn, _proving(actor), alike=alike, limit=limit, offset=offset)
    summary = [
        {
            "article": number,
            "needs": [
                rules.said(key, actor.lang) for key, row in rules.needs().items() if int(row["article"]) == number
            ],
            "states": [{"state": name, "skus": of[name]} for name in EVIDENCE_STATES if of[name]],
        }
        for number, of in counts.items()
    ]
    answer = {
        "data": [_listed(sku, actor) for sku in listed],
        "pagination": {"limit": limit, "offset": offset, "total": total},
        "summary": {"soon_days": rules.SOON_DAYS, "articles": summary},
    }
    return cast(EvidencePage, answer)


def _listed(sku: ProvedSku, actor: Actor) -> dict[str, Any]:
    states = _states(sku.facts, sku.held, actor.today)
    articles = [{"article": article, "state": state} for article, state in states.items()]
    return {"id": sku.id, "sku_code": sku.sku_code, "name": sku.name, "articles": articles}


def file(conn: Connection, actor: Actor) -> bytes:
    """Return the CSV of all SKUs with the state of each article."""
    rows = (
        {"sku_code": sku.sku_code, "name": sku.name}
        | dict(zip(_ARTICLES, _states(sku.facts, sku.held, actor.today).values(), strict=True))
        for sku in stored.skus(conn, _proving(actor))
    )
    return csv_of(_COLUMNS, rows)


def of_item(conn: Connection, actor: Actor, sku_id: UUID) -> dict[str, object]:
    """Return the evidence of a SKU, for an assistant: the articles by state, and what is asked."""
    record = read(conn, actor, sku_id)
    states = {
        state: [row["article"] for row in record["articles"] if row["state"] == state] for state in EVIDENCE_STATES
    }
    asks = [need["reason"] for row in record["articles"] for need in row["needs"] if need["state"] == rules.OPEN]
    answer: dict[str, object] = dict(states.items())
    answer |= {"asks": asks, "files_of_no_article": len(record["other_files"])}
    return {name: value for name, value in answer.items() if value}


def lacking(record: EvidenceRecord) -> list[tuple[int, Any]]:
    """Return what is missing, ended, ending, partial or asked of a record today, with its article."""
    of_articles = [(row["article"], need) for row in record["articles"] for need in row["needs"]]
    return [(article, need) for article, need in of_articles if need["state"] not in _NOT_LISTED]


class Bundle(NamedTuple):
    """What the archive of a declaration contains: documents by path, files of the record with their paths, the index.

    `files` are (path, id, SHA-256). `table` lists all, and says which are gone.
    """

    name: str
    documents: list[tuple[str, bytes]]
    files: list[tuple[str, UUID, str]]
    rows: list[dict[str, Any]]

    def table(self, missing: Sequence[str] = ()) -> bytes:
        """Return the CSV of all that it contains, each file with its SHA-256; `missing` are paths without bytes."""
        return csv_of(_INDEX, [row | {"included": "no" if row["path"] in missing else "yes"} for row in self.rows])


def bundle(conn: Connection, actor: Actor, doc_id: UUID, *, rulesets: Rulesets) -> Bundle:
    """Return what a national authority may ask of a declaration (Article 15(10)): all but the files' bytes.

    The record is as it is today. Raise `NotThere`.
    """
    doc = documents.one(conn, doc_id, actor.today)
    parts = [(f"declaration-{lang}.pdf", pdf) for lang, pdf, _ in conformity.pdfs_of(conn, doc_id)]
    rows = [_row(path, "declaration", data) for path, data in parts]
    held: list[tuple[str, UUID, str]] = []
    if doc["sku_id"] is not None:
        described = _documentation(conn, actor, doc["sku_id"], rulesets)
        parts += described
        rows += [_row(path, "documentation", data) for path, data in described]
        for number, one in enumerate(stored.every(conn, doc["sku_id"]), 1):
            path = f"evidence/{number:03}-{_NO_NAME.sub('_', one['filename'])}"
            held.append((path, UUID(one["id"]), one["sha256"]))
            of_type = rules.types()[one["type"]]
            need = rules.needs().get(of_type["need"])
            of_file = {"kind": of_type["kind"], "articles": need["reference"] if need else None}
            rows.append({**one, **of_file, "path": path, "state": rules.file_state(one["expires_on"], actor.today)})
    return Bundle(f"declaration-{doc_id}", parts, held, rows)


def _row(path: str, kind: str, data: bytes) -> dict[str, Any]:
    size = {"size_bytes": len(data), "sha256": sha256(data).hexdigest()}
    return {"path": path, "kind": kind, "filename": path, **size}


def _documentation(conn: Connection, actor: Actor, sku_id: UUID, rulesets: Rulesets) -> list[tuple[str, bytes]]:
    """Return the technical documentation of a SKU as the record holds it: fields, parts, grade, evidence by article."""
    found = next(iter(archive.of_ids(conn, [str(sku_id)], actor.today)), None)
    if found is None:
        raise NotThere(f"There is no SKU {sku_id}.")
    row = found[0]
    graded = detail.rulesets_of(conn, rulesets, row)
    item: Mapping[str, Any] = detail.sku_detail(row, graded, today=actor.today, lang=actor.lang)
    described = [
        ("record.json", _json({name: value for name, value in item.items() if name != "compliance"})),
        ("grade.json", _json(item["compliance"])),
        ("parts.csv", csv_of([field.name for field in COMPONENT_FIELDS], item["components"])),
    ]
    if sku := next(iter(stored.skus(conn, _proving(actor), ids=[sku_id])), None):
        record = _record(sku, stored.every(conn, sku_id), actor)
        of_articles: list[dict[str, Any]] = [
            {**need, "article": row["article"], "files": [one["filename"] for one in need["files"]]}
            for row in record["articles"]
            for need in row["needs"]
        ]
        described.append(("articles.csv", csv_of(_OF_ARTICLES, [*of_articles, *_of_annex_vii(record, actor.lang)])))
    return described


def _of_annex_vii(record: EvidenceRecord, lang: str) -> Iterator[dict[str, Any]]:
    """Yield the elements of Annex VII that are of no article, with their files: held while one of them is valid.

    Reports of any kind are test reports of point 2(f).
    """
    of_needs = [one for row in record["articles"] for need in row["needs"] for one in need["files"]]
    for kind, point in rules.annex_vii().items():
        files = [one for one in record["other_files"] if one["type"] == kind]
        if rules.types()[kind]["kind"] == "test_report":
            files += [one for one in of_needs if one["kind"] == "test_report"]
        states = {one["state"] for one in files}
        reference = Message("Regulation (EU) 2025/40, Annex VII, point {point}", point=point)
        yield {
            "article": "Annex VII",
            "need": kind,
            "state": rules.HELD if states - {rules.ENDED} else rules.ENDED if states else "missing",
            "applies_from": rules.needs()["metals"]["from"],
            "reference": translate(reference, lang),
            "sentence": CONTENTS[lang][kind],
            "files": [one["filename"] for one in files],
        }


def _json(value: object) -> bytes:
    return orjson.dumps(value, default=json_number, option=orjson.OPT_UTC_Z | orjson.OPT_INDENT_2)
