"""Makes a declaration of one market and period, and keeps it as filed: a row of its own that never changes.

The bytes are those that `pcds declaration` writes from the same snapshot (`pipelines.filings`). A kept declaration
is never computed again; a correction is a new one that names the first. Pages and the REST API call `prepare`, `make`
and `keep`, in this order.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple, cast  # Any: rows of a file, text or decimals
from uuid import UUID

import polars as pl
from uuid_utils import uuid7

from compliance.filings.document import CategoryScope
from compliance.filings.uk.rows import DRINKS, RATINGS, Producer, Statements
from compliance.filings.uk.rules import MARKET, FileRefused, rules
from compliance.rollup.periods import HALF_YEARLY
from pipelines.figures import loaded_catalogue
from pipelines.filings import Filing, Inputs, declared_market, nothing_placed
from schemas.actors import Actor
from schemas.filings import (
    MAX_STATEMENTS,
    UK_FORMAT,
    UNION_FORMAT,
    Declaration,
    DeclarationInput,
    StatedDrinks,
    StatedRating,
    UkProducer,
)
from schemas.issues import Issue
from schemas.json_values import JsonMapping, instant_text
from schemas.messages import Message, message_of
from schemas.refusals import Refused
from services.filings import files
from services.filings.files import MISSING, UNCOUNTED, DeclarationRequest, Questions, companion_path
from warehouse import filings
from warehouse.audit import ledger
from warehouse.companies import queries as companies
from warehouse.figures import snapshots
from warehouse.filings import Content
from warehouse.operate.sessions import Connection, Pool
from warehouse.rules import Rulesets

LISTED: Final = 100
"""The most SKUs that an answer lists as not counted; the file of them has all."""
_CSV: Final = "text/csv; charset=utf-8"
_SUFFIXES: Final = {"json": ".json", "csv": ".csv", "rpd": ".rpd.csv", UNION_FORMAT: f".{UNION_FORMAT}.csv"}
_PRODUCER: Final = ("organisation_id", "organisation_size", "activity", "household_type", "subsidiary_id")

_RULES: Final[Mapping[str, tuple[str, Message]]] = {
    "01": ("uk.organisation_id", Message("The organisation ID is a number of six digits.")),
    "23": ("uk.household_type", Message("Drinks containers of an online marketplace are household ones: choose HH.")),
    "44": (
        "year",
        Message(
            "The UK file has halves of large organisations from 2025 and years of small ones from 2024, until 2027."
        ),
    ),
    "46": ("uk.subsidiary_id", Message("A subsidiary ID is up to 32 letters and digits.")),
    "82": ("year", Message("The file would be empty: nothing could be counted for this period.")),
    "100": ("uk.ratings", Message("Household rows of large organisations have one of the six ratings.")),
    "909": ("half", Message("Large organisations report halves: choose the first or the second.")),
    "910": ("half", Message("Small organisations report the year, not a half of it.")),
}
"""The regulator's rules that a person meets here: the field that is at fault, and what would be right."""


class Prepared(NamedTuple):
    """What a declaration is made from, and how many write transactions came since the snapshot."""

    inputs: Inputs
    newer_writes: int


@dataclass(frozen=True, slots=True)
class Made:
    """A declaration that is not kept yet, its files, and the first SKUs that it does not count."""

    wanted: DeclarationInput
    market: str
    inputs: Inputs
    record: JsonMapping
    content: Content
    uncounted: Sequence[JsonMapping]
    scopes: Sequence[CategoryScope]
    rows: Sequence[Mapping[str, Any]]


def prepare(pool: Pool, actor: Actor, wanted: DeclarationInput, *, data_dir: Path, rulesets: Rulesets) -> Prepared:
    """Return what the declaration is made from. Raise `Refused`."""

    def read(conn: Connection) -> Prepared:
        check_correction(conn, wanted)
        snapshot = snapshots.current(data_dir, actor.company_id)
        if snapshot is None:
            message = Message("No snapshot of the portfolio is published yet; try again in a few minutes.")
            raise Refused([Issue("not_declarable", message)])
        inputs = Inputs(snapshot, loaded_catalogue(conn), rulesets.active(conn))
        market = _market(inputs, wanted)
        check_first(conn, wanted, market)
        if wanted.format == UNION_FORMAT:
            inputs = replace(inputs, reporter=files.reporter_of(conn, market))
        return Prepared(inputs, max(companies.counters(conn).figure_writes - snapshot.writes, 0))

    return pool.run(actor.company_id, read, repeatable=True)


def check_correction(conn: Connection, wanted: DeclarationInput) -> None:
    """Raise `Refused` where the declaration that is corrected is unknown, is a correction, or is of another period."""
    if wanted.corrects is None:
        return
    first = filings.by_id(conn, UUID(wanted.corrects))
    if first is None:
        message = Message("There is no kept declaration with this id.")
        raise Refused([Issue("unknown_reference", message, "corrects")])
    if first["corrects"] is not None:
        message = Message("This declaration corrects {first}; name that one.", first=str(first["corrects"]))
        raise Refused([Issue("not_declarable", message, "corrects")])
    if (first["market"], first["year"], first["half"]) != (wanted.market, wanted.year, wanted.half):
        name = Filing(first["market"], first["year"], first["half"]).name
        message = Message("A correction is of the same market and period; that one is of {name}.", name=name)
        raise Refused([Issue("not_declarable", message, "corrects")])


def check_first(conn: Connection, wanted: DeclarationInput, market: str) -> None:
    """Raise `Refused` (`already_declared`) where an equal first declaration is kept, whatever its bytes.

    Equal are market, year, half, format, organisation and subsidiary (decisions §13). A correction is no first one.
    """
    if wanted.corrects is not None:
        return
    producer = _producer(wanted.uk)
    first = filings.first_like(
        conn, market=market, year=wanted.year, half=wanted.half, form=wanted.format, producer=producer
    )
    if first is None:
        return
    first_id, when = str(first["id"]), instant_text(first["created_at"])
    message = Message(
        "This is declared already: the first declaration {first} was kept at {when}. To correct it send its id in "
        "corrects.",
        first=first_id,
        when=when,
    )
    issue = Issue("not_declarable", message, "corrects", stored_id=first_id, stored_at=when)
    raise Refused([issue], code="already_declared")


def make(inputs: Inputs, wanted: DeclarationInput) -> Made:
    """Make the declaration; it reads the whole snapshot and no database. Raise `Refused` with every reason."""
    market = _market(inputs, wanted)
    out = Path(Filing(market, wanted.year, wanted.half).name + _SUFFIXES[wanted.format])
    form = DeclarationRequest(market, wanted.year, wanted.half, wanted.format, out)
    try:
        made = files.bundle(inputs, form, _statements(wanted) if wanted.uk else None)
    except FileRefused as refused:
        raise Refused([*_of_rules(refused), *_left_out(refused)]) from None
    except OverflowError as beyond:
        raise Refused([Issue("not_declarable", message_of(str(beyond)))]) from None
    if not made.record["rows"] and not made.uncounted:
        raise nothing_placed()
    data = made.files[out]
    content = Content(
        filename=out.name,
        media_type="application/json" if wanted.format == "json" else _CSV,
        data=data,
        sha256=hashlib.sha256(data).hexdigest(),
        uncounted=made.files.get(companion_path(out, UNCOUNTED)),
        scope_missing=made.files.get(companion_path(out, MISSING)),
    )
    if wanted.sha256 not in (None, content.sha256):
        message = Message(
            "The file is another one by now: its SHA-256 is {sha256}. Look at it again.", sha256=content.sha256
        )
        raise Refused([Issue("not_declarable", message, "sha256")])
    return Made(wanted, market, inputs, made.record, content, made.uncounted[:LISTED], made.scopes, made.rows)


def questions(conn: Connection, inputs: Inputs, wanted: DeclarationInput) -> Questions:
    """Return what the UK file asks its producer beside what is stated; nothing of another form."""
    return files.producer_questions(inputs, _statements(wanted), conn) if wanted.uk else Questions()


Stated = tuple[Mapping[tuple[str, str], str], Mapping[str, bool]]
"""Ratings by SKU code and component type, and by SKU code whether it is a drinks container."""


def earlier_statements(conn: Connection, corrects: str | None) -> Stated:
    """Return what the producer stated in a declaration, or in its newest correction."""
    first = filings.by_id(conn, UUID(corrects)) if corrects else None
    if first is None:
        return {}, {}
    newest = first["corrected_by"][-1] if first["corrected_by"] else first["id"]
    ratings, drinks = filings.statements_of(conn, newest)
    return (
        {(row["sku_code"], row["component_type"]): row["rating"] for row in ratings},
        {row["sku_code"]: row["drinks_container"] for row in drinks},
    )


def complete(wanted: DeclarationInput, before: Stated, *, left_open: Collection[tuple[str, str]]) -> DeclarationInput:
    """Return the wanted declaration with what `before` states and it does not; `left_open` are parts without a rating.

    Raise `Refused` for more ratings than a declaration may have.
    """
    if wanted.uk is None:
        return wanted
    ratings = {(row.sku_code, row.component_type) for row in wanted.uk.ratings}
    answers = {row.sku_code for row in wanted.uk.drinks}
    more = [
        StatedRating(sku_code=code, component_type=kind, rating=value)
        for (code, kind), value in before[0].items()
        if (code, kind) not in ratings and (code, kind) not in left_open
    ]
    drinks = [
        StatedDrinks(sku_code=code, drinks_container=answer)
        for code, answer in before[1].items()
        if code not in answers
    ]
    if len(ratings) + len(more) > MAX_STATEMENTS:
        message = Message("A declaration has at most {most} ratings.", most=MAX_STATEMENTS)
        raise Refused([Issue("not_declarable", message, "uk.ratings")])
    stated = {"ratings": [*wanted.uk.ratings, *more], "drinks": [*wanted.uk.drinks, *drinks]}
    return wanted.model_copy(update={"uk": wanted.uk.model_copy(update=stated)})


def keep(conn: Connection, actor: Actor, made: Made) -> UUID:
    """Keep a declaration as it was made, with its audit entry, in the caller's transaction; return its id.

    Raise `Refused`.
    """
    filings.wait_turn(conn, actor.company_id)
    check_correction(conn, made.wanted)
    check_first(conn, made.wanted, made.market)
    declaration_id = UUID(str(uuid7()))
    declaration = declaration_of(made, declaration_id, actor)
    uk = made.wanted.uk
    stated = {"ratings": [], "drinks": []} if uk is None else uk.model_dump(include={"ratings", "drinks"})
    filings.add(conn, actor.company_id, declaration, made.content, stated)
    after = {
        name: _as_text(value) for name, value in declaration.items() if name not in ("id", "kept_by", "created_at")
    }
    ledger.enter(conn, actor, "declaration.kept", declaration_id, before=None, after=after)
    return declaration_id


def declaration_of(made: Made, declaration_id: UUID | None, actor: Actor) -> Declaration:
    """Return the record of a declaration; without an id where it is not kept."""
    content, origin = made.content, actor.origin
    summed = {name: made.record.get(name) for name in Declaration.__annotations__}
    own: dict[str, object] = {
        "id": declaration_id,
        "filename": content.filename,
        "media_type": content.media_type,
        "size_bytes": len(content.data),
        "sha256": content.sha256,
        "as_of": made.inputs.snapshot.as_of,
        "producer": _producer(made.wanted.uk),
        "corrects": None if made.wanted.corrects is None else UUID(made.wanted.corrects),
        "corrected_by": [],
        "kept_by": {"type": origin.actor_type, "id": origin.actor_id, "name": origin.actor_name},
        "created_at": actor.now,
    }
    return cast(Declaration, summed | own)


def _as_text(value: object) -> object:
    """Return a value as the audit log has it: decimals with every digit and instants as text."""
    if isinstance(value, dict):
        return {name: _as_text(member) for name, member in value.items()}
    if isinstance(value, datetime):
        return instant_text(value)
    return format(value, "f") if isinstance(value, Decimal) else value


def _market(inputs: Inputs, wanted: DeclarationInput) -> str:
    """Return the market that is declared. Raise `Refused` where it has no such period or file."""
    if wanted.format == UK_FORMAT and wanted.market != MARKET:
        message = Message(
            "The format rpd is the file of {market}; choose csv or json for another market.", market=MARKET
        )
        raise Refused([Issue("not_declarable", message, "format")])
    if wanted.half and wanted.market not in HALF_YEARLY:
        message = Message("{market} is declared by the year; only GB has halves.", market=wanted.market)
        raise Refused([Issue("not_declarable", message, "half")])
    try:
        return declared_market(inputs, wanted.market, wanted.half)
    except Refused:
        message = Message("There is no jurisdiction {market}; GET /jurisdictions lists them.", market=wanted.market)
        raise Refused([Issue("unknown_market", message, "market")]) from None


def _statements(wanted: DeclarationInput) -> Statements:
    uk = wanted.uk
    assert uk is not None, "the UK file has its producer"
    producer = Producer(**{name: getattr(uk, name) for name in _PRODUCER})
    rated = dict.fromkeys((rating.sku_code, rating.component_type, rating.rating) for rating in uk.ratings)
    answers = dict.fromkeys((drink.sku_code, drink.drinks_container) for drink in uk.drinks)
    ratings = pl.DataFrame(list(rated), schema=RATINGS, orient="row")
    return Statements(
        producer, wanted.year, wanted.half, ratings, pl.DataFrame(list(answers), schema=DRINKS, orient="row")
    )


def _of_rules(refused: FileRefused) -> Iterator[Issue]:
    for number in refused.numbers:
        field, sentence = _RULES.get(number, (None, message_of(rules()[number].message)))
        message = Message(
            "The regulator refuses the file, error {number}: {sentence}", number=number, sentence=sentence
        )
        yield Issue("regulator_rule", message, field)


def _left_out(refused: FileRefused) -> Iterator[Issue]:
    """Yield each SKU that the refused file does not count: it may be why."""
    if refused.uncounted is None:
        return
    for row in refused.uncounted.sort("sku_code", "reason").iter_rows(named=True):
        fields = ", ".join(row["fields"] or ())
        message = Message(
            "{sku_code} is not counted ({reason}); missing: {fields}.",
            sku_code=row["sku_code"],
            reason=row["reason"],
            fields=fields,
        )
        yield Issue("not_counted", message)


def _producer(uk: UkProducer | None) -> dict[str, str] | None:
    return None if uk is None else {name: getattr(uk, name) for name in _PRODUCER}
