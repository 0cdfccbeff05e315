"""Says what is missing in the registers of each market before a company sells there, and stores what it holds."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final, cast  # Any: what is held, whose types the body says

from compliance import registers as rules
from compliance import roles as role_rules
from compliance.catalogue import Jurisdiction
from compliance.registers import Standing
from pipelines.figures import loaded_catalogue
from schemas.actors import Actor
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import quote
from schemas.refusals import Refused
from schemas.registers import COLUMNS, MarketRegisters
from services import roles
from services.filings.files import csv_of
from warehouse import registers as stored
from warehouse.audit import ledger
from warehouse.operate.sessions import Connection
from warehouse.registers import StoredRegisters

_NOTHING: Final = StoredRegisters({"registrations": [], "representative": None, "certification": None})


class Registers:
    """What a company holds, and where it is producer, read once for all its markets or for one of them."""

    def __init__(self, conn: Connection, actor: Actor, market: str = "") -> None:
        self._actor = actor
        self._facts, producers = roles.producers(conn, actor.company_id, market)
        self._producers = defaultdict[str, list[role_rules.Decision]](list)
        for place, decision in producers:
            self._producers[rules.market_of(place)].append(decision)
        self.entries = {entry.code: entry for entry in loaded_catalogue(conn).entries}
        self.held = stored.read(conn)
        self.markets = sorted({*self._producers, *self.held})

    def of(self, market: str, held: StoredRegisters | None = None) -> MarketRegisters:
        """Return how the company stands in a market by what it holds there, or would hold."""
        of_market, lang, today = held or self.held.get(market, _NOTHING), self._actor.lang, self._actor.today
        entry = self.entries.get(market)
        standing = self.standing(market, of_market, entry)
        answer = {
            "market": market,
            "state": standing.state,
            "register_name": entry and entry.register_name,
            "register_url": entry and entry.register_url,
            "needs": [rules.in_words(need, lang) for need in standing.needs],
            "asks": [role_rules.ask(fact, lang) for fact in standing.asks],
            **of_market.held,
            "certified": rules.is_certified(standing, of_market.held, today),
            "version": of_market.version,
            "updated_at": of_market.updated_at,
        }
        return cast(MarketRegisters, answer)

    def standing(self, market: str, held: StoredRegisters, entry: Jurisdiction | None) -> Standing:
        """Return the judgement; where no SKU is in effect the company's own answers say what it is."""
        producers = self._producers.get(market) or [role_rules.decide_producer(market, self._facts)]
        return rules.judge(market, producers, held.held, entry.register_name if entry else None, self._actor.today)


def read(conn: Connection, actor: Actor) -> list[MarketRegisters]:
    """Return how the company stands in each market in effect, and in each in which it holds something."""
    registers = Registers(conn, actor)
    return [registers.of(market) for market in registers.markets]


def read_market(conn: Connection, actor: Actor, market: str) -> MarketRegisters:
    """Return how the company stands in one market, also where it has nothing there; of its part in the Union."""
    market = rules.market_of(market)
    return Registers(conn, actor, market).of(market)


def write(
    conn: Connection, actor: Actor, fields: dict[str, Any], *, version: int | None, dry_run: bool = False
) -> MarketRegisters:
    """Store what is held in a market in place of what was there; return how the company stands there then.

    Raise `Refused`: for days that contradict one another, a file of nobody, a market of no catalogue, and
    `version_conflict` where another version is stored than the one that was seen.
    """
    held = {name: fields[name] for name in _NOTHING.held}
    market = rules.market_of(fields["market"])
    registers = Registers(conn, actor, market)
    if market not in registers.entries:
        sentence = Message("The catalogue has no register for {market}.", market=quote(market))
        raise Refused([Issue("unknown_market", sentence, "market")])
    if issues := [*_contradictions(held, actor.today.isoformat()), *_unknown_proofs(conn, held)]:
        raise Refused(issues)
    before = registers.held.get(market, _NOTHING)
    if version not in (None, before.version):
        raise roles.conflict()
    if held == before.held:
        return registers.of(market)
    if dry_run:
        return registers.of(market, before._replace(held=held))
    if not stored.write(conn, actor.company_id, market, held, version=before.version, at=actor.now):
        raise roles.conflict()
    changed = [name for name in held if before.held[name] != held[name]]
    old, new = ({name: values[name] for name in changed} for values in (before.held, held))
    ledger.enter(conn, actor, "registers.updated", market, before=old, after=new)
    return registers.of(market, StoredRegisters(held, before.version + 1, actor.now))


def _times(held: dict[str, Any]) -> list[tuple[str, dict[str, Any], str, str]]:
    times = [
        (f"registrations[{place}].", each, "valid_from", "valid_to") for place, each in enumerate(held["registrations"])
    ]
    if held["representative"] is not None:
        times.append(("representative.", held["representative"], "mandate_from", "mandate_to"))
    return times


def _contradictions(held: dict[str, Any], today: str) -> list[Issue]:
    issues = [
        Issue("out_of_range", Message("The last day is before the first."), path + until)
        for path, record, since, until in _times(held)
        if record[until] is not None and record[until] < record[since]
    ]
    if held["certification"] and held["certification"]["signed_on"] > today:
        issues.append(Issue("out_of_range", Message("This day is in the future."), "certification.signed_on"))
    return issues


def _unknown_proofs(conn: Connection, held: dict[str, Any]) -> list[Issue]:
    return unknown_proofs(conn, {f"{path}proof_id": record["proof_id"] for path, record, *_ in _times(held)})


def unknown_proofs(conn: Connection, named: Mapping[str, str | None]) -> list[Issue]:
    """Return an issue for each path whose proof is no technical file of the company; null names none."""
    proofs = {path: proof for path, proof in named.items() if proof}
    known = stored.proofs(conn, set(proofs.values())) if proofs else {}
    sentence = Message("No technical file of the company has this id.")
    return [Issue("unknown_reference", sentence, path) for path, proof in proofs.items() if proof not in known]


def proof_choices(conn: Connection) -> list[tuple[str, str]]:
    """Return ids and names of the technical files that can be named as proof, the newest first."""
    held = stored.read(conn)
    named = {record["proof_id"] for each in held.values() for _, record, *_ in _times(each.held) if record["proof_id"]}
    newest = dict(stored.newest_files(conn))
    return list({**newest, **stored.proofs(conn, named - newest.keys())}.items())


def marketplace_file(conn: Connection, actor: Actor) -> bytes:
    """Return the CSV of Article 45(4): a row for each Member State in which the company is producer, or may be.

    Of what it holds only what is in force today stands there, and the self-certification only where nothing is missing.
    """
    registers = Registers(conn, actor)
    rows = [_row(registers.of(market), actor) for market in registers.markets]
    return csv_of(COLUMNS, [row for row in rows if row])


def _row(market: MarketRegisters, actor: Actor) -> dict[str, object] | None:
    if market["state"] in (rules.OUTSIDE, rules.NOT_NEEDED):
        return None
    held = cast(rules.Held, market)
    registrations = rules.in_force(held, actor.today)
    row: dict[str, object] = {"member_state": market["market"], "as_of": actor.today.isoformat()}
    columns = {"register": "register_name", "registration_number": "number"}
    columns |= {name: name for name in ("valid_from", "valid_to")}
    row |= {column: [each[name] or "" for each in registrations] for column, name in columns.items()}
    if rules.has_mandate(held, actor.today):
        one = held["representative"]
        row |= {"authorised_representative": one["name"], "representative_address": one["address"]}
    if market["certified"]:
        signed = held["certification"]
        row["self_certification"] = rules.sentence("certification", actor.lang)
        row |= {"certified_by": signed["name"], "certified_on": signed["signed_on"]}
    return row


def of_market(conn: Connection, actor: Actor, market: str) -> dict[str, object]:
    """Return how the company stands in the registers of a market, for an assistant."""
    entry = read_market(conn, actor, market)
    answer: dict[str, object] = {
        "is": entry["state"],
        "register": entry["register_name"] or "not known",
        "numbers": [f"{each['register_name']}: {each['number']}" for each in entry["registrations"]],
        "representative": entry["representative"] and entry["representative"]["name"],
        "needs": [f"{need['sentence']} ({need['reference']})" for need in entry["needs"]],
        "depends_on": [question["fact"] for question in entry["asks"]],
    }
    return {name: value for name, value in answer.items() if value not in (None, [])}
