"""Says what printed marks must go, which labels come and which claims lack a proof, and stores what is on packs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast  # Any: what is printed, whose types the body says
from uuid import UUID

import orjson

from compliance import marks as rules
from compliance.catalogue import eu_codes
from compliance.scopes import FIRST_YEAR_IN_EFFECT, is_in_union
from schemas.actors import Actor
from schemas.marks import COLUMNS, STATES, MarkedSku, MarksPage, PackClaim, PackRecord
from schemas.normalise import TERRITORIES, country_of
from schemas.refusals import Refused, require
from services import roles
from services.filings.files import csv_of
from services.registers import unknown_proofs
from warehouse import beside
from warehouse import marks as stored
from warehouse.beside import MARKS, Stored
from warehouse.operate.sessions import Connection

_IN_UNION: Final = {"in": True, "out": False, "unknown": None}
_MOST_CLAIMS: Final = 200
_WEIGHED: Final = (rules.CHANGE, rules.DEPENDS)


def read(conn: Connection, actor: Actor, record_id: UUID) -> PackRecord:
    """Return what is printed on the packs of a SKU or a brand, and what follows. Raise `NotThere`."""
    pack = _pack(conn, record_id)
    return _record(conn, actor, pack, beside.read(conn, MARKS, pack["id"]))


def write(
    conn: Connection, actor: Actor, record_id: UUID, fields: dict[str, Any], *, dry_run: bool = False
) -> PackRecord:
    """Store what is printed in place of what was recorded for a SKU or a brand; return what follows.

    Raise `NotThere`, and `Refused` for a proof of nobody, or where another version is stored than the one seen.
    """
    pack = _pack(conn, record_id)
    before, version = beside.read(conn, MARKS, pack["id"]), fields.pop("if_version")
    if version not in (None, before.version):
        raise roles.conflict()
    named = {f"claims[{place}].proof_id": claim["proof_id"] for place, claim in enumerate(fields["claims"])}
    if issues := unknown_proofs(conn, named):
        raise Refused(issues)
    body = None if fields == rules.NOTHING else fields
    change = beside.change(pack["id"], before.version, body, before.body or rules.NOTHING, fields)
    if change is None or dry_run:
        return _record(conn, actor, pack, before._replace(body=body))
    if not beside.write(conn, actor, MARKS, [change]):
        raise roles.conflict()
    return _record(conn, actor, pack, Stored(body, before.version + 1, actor.now))


def _union() -> list[str]:
    return sorted({*(code[:2] for code in eu_codes()), *TERRITORIES})


def _pack(conn: Connection, record_id: UUID) -> dict[str, Any]:
    """Return the SKU, else the brand, that an id means; a brand counts as sold in the Union."""
    sku = stored.find_sku(conn, record_id, _union(), FIRST_YEAR_IN_EFFECT)
    return sku or require(stored.find_brand(conn, record_id))


def _record(conn: Connection, actor: Actor, pack: dict[str, Any], own: Stored) -> PackRecord:
    lang, in_union, facts = actor.lang, _IN_UNION[pack["place"]], pack["facts"]
    source, printed = pack["id"], own.body
    if printed is None and pack["brand_id"]:
        source, printed = pack["brand_id"], beside.read(conn, MARKS, pack["brand_id"]).body
    state = rules.state_of(printed, in_union=in_union)
    labels = rules.labels(printed, rules.Facts(*orjson.loads(facts))) if facts and state != rules.OUTSIDE else ()
    marks = (printed or rules.NOTHING)["marks"]
    record = {
        **{name: pack[name] for name in ("id", "sku_code", "brand_id", "brand_name")},
        **(printed or rules.NOTHING),
        "recorded_for": source if printed else None,
        "state": state,
        "timing": rules.timing(printed, actor.today) if state == rules.CHANGE else None,
        "marks": marks and [_mark(mark, lang) for mark in marks],
        "claims": _claims([(source, pack["sku_code"] or pack["brand_name"], printed)], lang) if printed else [],
        "labels": [_label(label, lang) for label in labels],
        "asks": [rules.said(key, lang) for key in rules.asks(state, in_union=in_union)],
        "version": own.version,
        "updated_at": own.updated_at,
    }
    return cast(PackRecord, record)


def _mark(mark: dict[str, Any], lang: str) -> dict[str, Any]:
    judged = rules.judge_mark(mark)
    name = rules.table()[judged.key][lang] if judged.key else None
    return {**mark, "name": name, "kind": judged.kind, "answer": judged.answer, **rules.said(judged.reason, lang)}


def _label(label: rules.Label, lang: str) -> dict[str, Any]:
    return {"label": label.label, "answer": label.answer, "field": label.field, **rules.said(label.reason, lang)}


def _claims(records: Iterable[tuple[Any, str, dict[str, Any]]], lang: str) -> list[PackClaim]:
    """Return the claims of records, the worst first, each with its state and what it needs."""
    judged = []
    for id_, name, printed in records:
        for claim in printed["claims"]:
            state, keys = rules.judge_claim(claim)
            needs = [rules.said(key, lang) for key in keys]
            judged.append({"record_id": id_, "record_name": name, **claim, "state": state, "needs": needs})
    judged.sort(key=lambda claim: rules.CLAIMS.index(claim["state"]))
    return cast(list[PackClaim], judged)


def page(
    conn: Connection, actor: Actor, states: Sequence[str], *, limit: int | None = None, offset: int = 0, place: str = ""
) -> MarksPage:
    """Return a page of the SKUs of some states by code, and the sums of all, in the Union or in one country."""
    recorded = stored.recorded(conn)
    prints = {text: orjson.loads(text) for text in {text for _, _, text in recorded}} | {"": None}
    states_of = {
        (text, place): rules.state_of(printed, in_union=in_union)
        for text, printed in prints.items()
        for place, in_union in _IN_UNION.items()
    }
    places = [place] if place else _union()
    year = actor.today.year - 1
    values = {"places": places, "first_year": FIRST_YEAR_IN_EFFECT, "year": f"/{year}/0", "weighed": [*_WEIGHED]}
    found = stored.skus(conn, states_of, states, limit=limit, offset=offset, **values)
    counts, labels = defaultdict[str, list[Any]](list), defaultdict[rules.Label, int](int)
    for group in found["groups"]:
        counts[group["state"]].append(group)
        if group["state"] != rules.OUTSIDE:
            for label in rules.labels(prints[group["printed"]], rules.Facts(*orjson.loads(group["facts"]))):
                labels[label] += group["skus"]
    coming = [{**_label(label, actor.lang), "skus": skus} for label, skus in labels.items()]
    summary = {
        "change_by": rules.deadline(),
        "year": year,
        "states": [_sums(state, counts[state]) for state in STATES if state in counts],
        "labels": sorted(coming, key=lambda row: (row["applies_from"] or "9", row["label"], row["sentence"])),
        "claims": _claims(((id_, name, prints[text]) for id_, name, text in recorded), actor.lang)[:_MOST_CLAIMS],
    }
    skus = [_sku(row, prints[row["printed"]] or rules.NOTHING, actor) for row in found["rows"]]
    pagination = {"limit": limit, "offset": offset, "total": found["total"]}
    return cast(MarksPage, {"data": skus, "pagination": pagination, "summary": summary})


def _sums(state: str, groups: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = ("skus", "tonnes", "without_tonnes") if state in _WEIGHED else ("skus",)
    sums = {name: round(sum(group[name] or 0 for group in groups), 6) for name in names}
    return {"state": state, "tonnes": None, "without_tonnes": None, **sums}


def _sku(row: dict[str, Any], printed: dict[str, Any], actor: Actor) -> MarkedSku:
    state, labels = row["state"], rules.labels(printed, rules.Facts(*orjson.loads(row["facts"])))
    listed = {
        **{name: row[name] for name in ("id", "sku_code", "name", "brand_name", "state")},
        **{name: printed[name] for name in ("artwork_reference", "artwork_state", "changes_on")},
        "tonnes": None if row["tonnes"] is None else round(row["tonnes"], 6),
        "timing": rules.timing(printed, actor.today) if state == rules.CHANGE else None,
        "marks": [mark["mark"] for mark in printed["marks"] or () if rules.judge_mark(mark).answer != rules.CLEAR],
        "labels": [] if state == rules.OUTSIDE else [f"{label.label}: {label.answer}" for label in labels],
        "claims": [f"{claim['text']}: {rules.judge_claim(claim)[0]}" for claim in printed["claims"]],
    }
    return cast(MarkedSku, listed)


def file(conn: Connection, actor: Actor) -> bytes:
    """Return the CSV of all SKUs that the Union's rules may be about: what must change, what is asked, what comes."""
    return csv_of(COLUMNS, page(conn, actor, [state for state in STATES if state != rules.OUTSIDE])["data"])


def of_item(conn: Connection, actor: Actor, sku_id: UUID) -> dict[str, object]:
    """Return what is printed on a SKU, for an assistant: what must go and by when, what is asked, labels and claims."""
    record = read(conn, actor, sku_id)
    answer: dict[str, object] = {
        "is": record["state"],
        "marks": [f"{mark['mark']}: {mark['answer']}" for mark in record["marks"] or ()],
        "change_by": rules.deadline() if record["timing"] else None,
        "artwork": [record["artwork_state"], record["changes_on"], record["timing"]] if record["timing"] else None,
        "labels_to_come": [f"{label['label']}: {label['answer']}" for label in record["labels"]],
        "claims": [f"{claim['text']}: {claim['state']}" for claim in record["claims"]],
        "asks": [ask["sentence"] for ask in record["asks"]],
    }
    return {name: value for name, value in answer.items() if value not in (None, [])}


def of_market(conn: Connection, actor: Actor, market: str) -> dict[str, object]:
    """Return how many SKUs of a market must change, with their tonnes there, for an assistant."""
    if not is_in_union(market):
        return {"is": rules.OUTSIDE}
    answer = page(conn, actor, [rules.CHANGE], limit=3, place=country_of(market))
    here = {row["state"]: {"items": row["skus"], "tonnes": row["tonnes"]} for row in answer["summary"]["states"]}
    codes = [sku["sku_code"] for sku in answer["data"]]
    told = {"change_by": rules.deadline(), "year": answer["summary"]["year"], "must_change_first": codes}
    return {**told, **{state: sums for state, sums in here.items() if state != rules.OUTSIDE}}
