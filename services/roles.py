"""Says what a company is for its packaging in each market, and stores the answers that decide it.

A SKU's own answer counts before what its record says (the countries of its parts' suppliers, its packaging level),
that before the company's answer, and that before the company's profile.
"""

from datetime import date
from typing import Any, Final, cast  # Any: answers, whose types the body says
from uuid import UUID

from compliance import roles as rules
from compliance.scopes import FIRST_YEAR_IN_EFFECT, PlacedUnits, markets_in_effect
from schemas.actors import Actor
from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import Refused, require
from schemas.roles import NO_ANSWERS, MarketRoles, RoleAnswers, RoleDecision, RolesRecord
from warehouse import beside
from warehouse import roles as stored
from warehouse.beside import ROLES, Stored
from warehouse.companies import profiles
from warehouse.operate.sessions import Connection

_KINDS: Final = {"transport": "transport", "e_commerce": "transport", "grouped": "products"}
"""Article 3(1)(6) to (8); sales packaging may be service packaging, which only the company can say."""
_TRUTHS: Final = {True: "yes", False: "no"}


def read(conn: Connection, actor: Actor, sku_id: UUID | None) -> RolesRecord:
    """Return the roles of a SKU, without one those by the company's answers. Raise `NotThere`."""
    return _record(conn, actor, sku_id, beside.read(conn, ROLES, sku_id or actor.company_id))


def write(
    conn: Connection,
    actor: Actor,
    sku_id: UUID | None,
    fields: dict[str, Any],
    *,
    version: int | None,
    dry_run: bool = False,
) -> RolesRecord:
    """Store the answers of a SKU or the company in place of those before; return the roles that follow.

    Raise `NotThere`, and `Refused` (`version_conflict`) where another version is stored than the one that was seen.
    """
    record_id = sku_id or actor.company_id
    if sku_id is not None:
        require(stored.find_sku(conn, sku_id, actor.today))
    before = beside.read(conn, ROLES, record_id)
    answers = {name: value for name, value in fields.items() if value is not None}
    if version not in (None, before.version):
        raise conflict()
    change = beside.change(record_id, before.version, answers, before.body or {}, answers)
    if change is None or dry_run:
        return _record(conn, actor, sku_id, before._replace(body=answers))
    if not beside.write(conn, actor, ROLES, [change]):
        raise conflict()
    return _record(conn, actor, sku_id, Stored(answers, before.version + 1, actor.now))


def producers(
    conn: Connection, company_id: UUID, begin: str = ""
) -> tuple[rules.Facts, list[tuple[str, rules.Decision]]]:
    """Return the facts of the company itself, and for each market in effect the decisions on its SKUs there.

    Only markets whose codes begin so are read: a country's parts have codes that begin with its own.
    """
    facts = _of_company(conn) | _codes(beside.read(conn, ROLES, company_id).body or {})
    return facts, [
        (each.market, rules.decide_producer(each.market, {**facts, **_of_sku(each.sku), **_codes(each.answers)}))
        for each in stored.alike(conn, FIRST_YEAR_IN_EFFECT, begin)
        if each.market
    ]


def conflict() -> Refused:
    """Return the refusal of a write over answers that somebody else has stored meanwhile."""
    sentence = Message("Somebody has changed these answers meanwhile; see what is stored now.")
    return Refused([Issue("version_conflict", sentence, "if_version")], "version_conflict")


def _record(conn: Connection, actor: Actor, sku_id: UUID | None, own: Stored) -> RolesRecord:
    facts = _of_company(conn)
    sku: dict[str, Any] = {}
    if sku_id is None:
        markets = stored.markets(conn, FIRST_YEAR_IN_EFFECT)
    else:
        sku = require(stored.find_sku(conn, sku_id, actor.today))
        facts |= _codes(beside.read(conn, ROLES, actor.company_id).body or {}) | _of_sku(sku)
        rows = ((*period.split("/"), units) for period, units in (sku["volumes"] or {}).items())
        placed = [PlacedUnits(market, int(year), units) for market, year, _, units in rows]
        markets = markets_in_effect(sku["markets"], placed)
    facts |= _codes(own.body or {})
    has_declaration = None if sku_id is None else sku["doc_status"] == "valid"
    return {
        "sku_id": sku_id,
        "sku_code": sku.get("sku_code"),
        "answers": cast(RoleAnswers, {**NO_ANSWERS, **(own.body or {})}),
        "in_effect": {**dict.fromkeys(NO_ANSWERS), **facts},
        "version": own.version,
        "updated_at": own.updated_at,
        "markets": [_in_market(market, facts, actor.today, has_declaration, actor.lang) for market in markets],
    }


def _of_company(conn: Connection) -> dict[str, str | None]:
    """Return the facts that the company's profile answers."""
    profile = profiles.read(conn)
    return {name: _code(profile[name]) for name in ("seat", "size", "sells_directly_abroad")}


def _of_sku(sku: dict[str, Any]) -> dict[str, str]:
    """Return the facts that the record of a SKU says."""
    countries: list[str | None] = sku["countries"] or []
    said = {
        "supplier_country": countries[0] if len(countries) == 1 else None,
        "kind": _KINDS.get(sku["packaging_level"]),
    }
    return {fact: value for fact, value in said.items() if value}


def _codes(answers: dict[str, Any]) -> dict[str, str | None]:
    return {name: _code(value) for name, value in answers.items()}


def _code(value: object) -> str | None:
    return _TRUTHS[value] if isinstance(value, bool) else cast(str | None, value)


def _in_market(market: str, facts: rules.Facts, today: date, has_declaration: bool | None, lang: str) -> MarketRoles:
    decided = rules.decide(market, facts)
    entry = {
        "market": market,
        "operator": rules.in_words(decided.operator, lang),
        "producer": rules.in_words(decided.producer, lang),
        "duties": rules.duties(decided, today, has_declaration=has_declaration, lang=lang),
    }
    return cast(MarketRoles, entry)


def of_item(conn: Connection, actor: Actor, sku_id: UUID) -> list[dict[str, object]]:
    """Return the roles of a SKU for an assistant: markets of equal answers together, with articles and open facts."""
    groups: dict[str, dict[str, Any]] = {}
    for entry in read(conn, actor, sku_id)["markets"]:
        told = {"operator": _told(entry["operator"]), "producer": _told(entry["producer"])}
        groups.setdefault(repr(told), {"markets": [], **told})["markets"].append(entry["market"])
    return list(groups.values())


def _told(decision: RoleDecision) -> dict[str, object]:
    asks = [question["fact"] for question in decision["asks"]]
    return {"is": decision["answer"], "by": decision["reference"]} | ({"depends_on": asks} if asks else {})
