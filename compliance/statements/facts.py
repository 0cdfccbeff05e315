"""Loads the facts against which statements are checked: one row each, with its topics, its claim and its source.

Cells of `rules/statements/regulation.csv` and `service.csv`:

    needs     concepts that a statement must have, each `one` or `one/other`
    allows    concepts that it may have besides
    excludes  concepts that contradict the fact: with them it would be wider or another
    claim     forbid, require, permit, exempt; define (it is so), untrue (it is not so)
    values    quantities with their comparison, such as `>=25 ppb`; for the claim forbid, of what is forbidden
    dates     `from:`, `until:` or `by:` an ISO day
    refs      articles and annexes, and `act` the regulation that they belong to
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Final

import tantivy

from compliance.statements.figures import FOLDER, Quantity, Reference, kinds, quantity
from compliance.statements.reading import Amount, complement
from compliance.tables import TableError, rows, words

_CLAIMS: Final = frozenset({"forbid", "require", "permit", "exempt", "define", "untrue"})
_OPERATORS: Final = (">=", "<=", ">", "<")


@dataclass(frozen=True, slots=True)
class Fact:
    """One row. `amounts` are the allowed values, whatever the claim."""

    key: str
    needs: tuple[frozenset[str], ...]
    allows: frozenset[str]
    excludes: frozenset[str]
    claim: str
    amounts: tuple[Amount, ...]
    dates: tuple[tuple[str, date], ...]
    references: tuple[Reference, ...]
    sentence: str
    source: str
    source_url: str | None
    values: str

    def as_dict(self) -> dict[str, object]:
        """Return the entry as answers publish it."""
        return {
            "key": self.key,
            "sentence": self.sentence,
            "values": list(words(self.values)),
            "dates": [{"role": role, "date": day.isoformat()} for role, day in self.dates],
            "source": self.source,
            "source_url": self.source_url,
        }


@lru_cache(maxsize=2)
def load(name: str) -> tuple[Fact, ...]:
    """Return the facts of `regulation` or `service`. Raise `TableError` where a row contradicts the table's form."""
    return tuple(_fact(row, FOLDER / f"{name}.csv") for row in rows(FOLDER / f"{name}.csv"))


def _fact(row: dict[str, str], file: Path) -> Fact:
    if row["claim"] not in _CLAIMS or not row["needs"] or not row["source"] or not row["sentence"]:
        raise TableError(f"{file.name}: {row['key']} lacks a known claim, what it is about, a sentence or a source.")
    named = {name for cell in ("needs", "allows", "excludes") for word in row[cell].split() for name in word.split("/")}
    if unknown := named - kinds().keys():
        raise TableError(f"{file.name}: {row['key']} names concepts that concepts.csv lacks: {sorted(unknown)}.")
    acts = (Reference("act", row["act"]),) if row["act"] else ()
    return Fact(
        key=row["key"],
        needs=tuple(frozenset(word.split("/")) for word in row["needs"].split()),
        allows=frozenset(row["allows"].split()),
        excludes=frozenset(row["excludes"].split()),
        claim=row["claim"],
        amounts=tuple(_amount(text, forbidden=row["claim"] == "forbid") for text in words(row["values"])),
        dates=tuple(_moment(text) for text in words(row["dates"])),
        references=(*(_reference(text) for text in words(row["refs"])), *acts),
        sentence=row["sentence"],
        source=row["source"],
        source_url=row["source_url"] or None,
        values=row["values"],
    )


def _amount(text: str, *, forbidden: bool) -> Amount:
    operator = next((sign for sign in _OPERATORS if text.startswith(sign)), "")
    amount: Quantity = quantity(text.removeprefix(operator))
    return Amount(amount, complement(operator) if forbidden else operator)


def _moment(text: str) -> tuple[str, date]:
    role, _, day = text.partition(":")
    return role, date.fromisoformat(day)


def _reference(text: str) -> Reference:
    return Reference("annex", text.removeprefix("annex ")) if text.startswith("annex ") else Reference("article", text)


FOUND: Final = 60
"""Most facts that are judged; a statement of three concepts finds far fewer that have all of them."""


class Corpus:
    """The facts of one table, searchable by concepts."""

    def __init__(self, name: str, facts: Iterable[Fact]) -> None:
        self.name = name
        self._facts = {fact.key: fact for fact in facts}
        schema = tantivy.SchemaBuilder().add_text_field("key", stored=True, tokenizer_name="raw")
        schema = schema.add_text_field("concepts", tokenizer_name="whitespace")
        self._index = tantivy.Index(schema.build())
        writer = self._index.writer(heap_size=15_000_000, num_threads=1)
        for fact in self._facts.values():
            concepts = " ".join(sorted(frozenset().union(*fact.needs)))
            writer.add_document(tantivy.Document(key=fact.key, concepts=concepts))
        writer.commit()
        self._index.reload()

    def about(self, concepts: frozenset[str]) -> list[Fact]:
        """Return the facts that share most with these concepts, the rarest counting most."""
        if not concepts:
            return []
        schema = self._index.schema
        terms = [tantivy.Query.term_query(schema, "concepts", concept) for concept in sorted(concepts)]
        query = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        searcher = self._index.searcher()
        hits = searcher.search(query, limit=FOUND).hits
        return [self._facts[searcher.doc(address).to_dict()["key"][0]] for _, address in hits]


@lru_cache(maxsize=1)
def regulation() -> Corpus:
    """Return the corpus of articles, dates and limits of the law."""
    return Corpus("regulation", load("regulation"))


@lru_cache(maxsize=1)
def service() -> Corpus:
    """Return the corpus of published plans and product facts."""
    return Corpus("service", load("service"))
