"""Loads the provisions against which statements are held, with their exceptions, in the frame of a claim.

Cells of `rules/statements/regulation.csv` and `service.csv`:

    rule      forbid, oblige, permit, endeavour, optional (the law says may), define; untrue: the law does not say so;
              unbanned, unrequired: the law has no such ban, no such duty; empty: to be quoted, never to decide
    needs     concepts that a claim must have, each `one` or `one/other`
    scope     what the rule holds for; `one?` may stay unsaid where a claim speaks of the rule itself
    admits    other concepts that a claim may have; `*` any class, which only makes it narrower; `~one` a wider class,
              of which the rule holds for a part
    value     the figures of the rule (`>=30 %`); bound: those of its scope (`<=3 l`)
    dates     `from:`, `until:` or `by:` an ISO day
    refs      its article, then others under which it is cited; act: the regulation that they belong to
    actors    whom the rule binds; `!` after them: nobody else
    flags     how it is compared:
              strict     the rule holds for nothing outside its scope     average    of no single pack
              law        true before it applies                           total      of all such packaging together
              later      its day may come later                           part       its figure is a part of the subject
              case       only for the value of one pack                   nopermit   below its limit not all is allowed
              bare       also without its figure                          anyfigure  whatever figure is said
              rule       only where a claim speaks of the rule            denies     it never supports
              of         its article is the point                         cite       only with an article
              cited      its article stands for its subject               present    an indicative demands too
              outside    it does not hold beyond its bound                unbound    its bound may stay unsaid
              each       only against a claim on each                     universal  only against a claim on all
              internal   its end is no day of the law: not published      only:a     it is exclusive to a
              limit      as much as its figure may be
              order:a<b  a must stand before b                            after:a    a must follow the verb
              *name      a group of exceptions.csv

Cells of `exceptions.csv`: `facts`, the key or the group of what it limits; `when`, the case in the words of `needs`,
`!one` without it; `holds`, whether the rule does not hold (spared, outside), may not hold (open) or gives way to
another (other); the bound of the case. An exception without a sentence only keeps a verdict back; one without a case
qualifies the rule and keeps *all* from being supported.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Final

from compliance.statements.claims import Amount
from compliance.statements.words import FOLDER, CorpusName, Reference, kinds, quantity
from compliance.tables import Row, TableError, rows, words

_RULES: Final = frozenset(words("forbid|oblige|permit|endeavour|optional|define|untrue|unbanned|unrequired")) | {""}
_HOLDS: Final = frozenset({"spared", "outside", "open", "other"})
_ARTICLE: Final = re.compile(r"(?:Article|Annex) .+")
_SIGNS: Final = (">=", "<=", ">", "<")
Groups = tuple[frozenset[str], ...]
"""Concepts of which a claim must have one of each group."""


@dataclass(frozen=True, slots=True)
class Exemption:
    """A case in which a rule does not hold, may not hold, or gives way to another."""

    when: Groups
    unless: frozenset[str]
    holds: str
    bound: Amount | None
    sentence: str
    source: str

    def as_dict(self) -> dict[str, str]:
        """Return the exception as answers publish it."""
        return {"sentence": self.sentence, "source": self.source}


@dataclass(frozen=True, slots=True)
class Fact:
    """One provision: a row of a table of facts."""

    key: str
    rule: str
    needs: Groups
    scope: Groups
    unsaid: Groups
    """What of the scope may stay unsaid."""
    admits: frozenset[str]
    wider: frozenset[str]
    """Wider classes, of which the rule holds for a part."""
    values: tuple[Amount, ...]
    bounds: tuple[Amount, ...]
    dates: dict[str, date]
    references: tuple[Reference, ...]
    actors: frozenset[str]
    flags: frozenset[str]
    exemptions: tuple[Exemption, ...]
    sentence: str
    source: str
    source_url: str | None
    figures: tuple[str, ...]
    """Values and bounds as the table writes them."""

    @property
    def concepts(self) -> frozenset[str]:
        """What it is about."""
        return frozenset().union(*self.needs, *self.scope, self.actors)

    def as_dict(self) -> dict[str, object]:
        """Return the fact as answers publish it; that a later figure overtakes its own is no day of the law."""
        dates = (pair for pair in self.dates.items() if pair[0] != "until" or "internal" not in self.flags)
        return {
            "key": self.key,
            "sentence": self.sentence,
            "values": list(self.figures),
            "dates": [{"role": role, "date": day.isoformat()} for role, day in dates],
            "source": self.source,
            "source_url": self.source_url,
        }

    def as_provision(self) -> dict[str, object]:
        """Return the fact with its article and its exceptions."""
        article = _ARTICLE.search(self.source)
        exceptions = [exemption.as_dict() for exemption in published(self.exemptions)]
        return {**self.as_dict(), "article": article and article[0], "exceptions": exceptions}


def published(exemptions: Iterable[Exemption]) -> tuple[Exemption, ...]:
    """Return the exceptions that have a sentence, each once."""
    return tuple({exemption.sentence: exemption for exemption in exemptions if exemption.sentence}.values())


@lru_cache(maxsize=2)
def load(corpus: CorpusName) -> tuple[Fact, ...]:
    """Return the facts of a corpus. Raise `TableError` where a row contradicts the table's form."""
    exemptions: dict[str, list[Exemption]] = {}
    for row in rows(FOLDER / "exceptions.csv"):
        if row["holds"] not in _HOLDS or bool(row["sentence"]) != bool(row["source"]):
            raise TableError(f"exceptions.csv: {row['facts']}, {row['when']} says '{row['holds']}', or no source.")
        exemption = Exemption(
            _groups(row["when"]),
            frozenset(word[1:] for word in row["when"].split() if word[0] == "!"),
            row["holds"],
            amount(row["bound"]) if row["bound"] else None,
            row["sentence"],
            row["source"],
        )
        for key in row["facts"].split():
            exemptions.setdefault(key, []).append(exemption)
    file = FOLDER / f"{corpus}.csv"
    return tuple(_fact(row, exemptions, file) for row in rows(file))


def _fact(row: Row, exemptions: dict[str, list[Exemption]], file: Path) -> Fact:
    scope = row["scope"].split()
    flags = frozenset(row["flags"].split())
    acts = (Reference("act", row["act"]),) if row["act"] else ()
    fact = Fact(
        key=row["key"],
        rule=row["rule"],
        needs=_groups(row["needs"]),
        scope=_groups(row["scope"].replace("?", "")),
        unsaid=_groups(" ".join(word.rstrip("?") for word in scope if word.endswith("?"))),
        admits=frozenset(word for word in row["admits"].split() if word[0] != "~"),
        wider=frozenset(word[1:] for word in row["admits"].split() if word[0] == "~"),
        values=tuple(amount(text) for text in words(row["value"])),
        bounds=tuple(amount(text) for text in words(row["bound"])),
        dates={role: date.fromisoformat(day) for role, _, day in (text.partition(":") for text in words(row["dates"]))},
        references=(*(_reference(text) for text in words(row["refs"])), *acts),
        actors=frozenset(row["actors"].replace("!", " ").split()),
        flags=flags | ({"actors"} if row["actors"].endswith("!") else frozenset()),
        exemptions=tuple(exemption for key in (row["key"], *sorted(flags)) for exemption in exemptions.get(key, ())),
        sentence=row["sentence"],
        source=row["source"],
        source_url=row["source_url"] or None,
        figures=(*words(row["value"]), *words(row["bound"])),
    )
    cases = (group for exemption in fact.exemptions for group in exemption.when)
    names = fact.concepts.union(fact.admits - {"*"}, fact.wider, *cases)
    if fact.rule not in _RULES or not fact.needs or not fact.sentence or not fact.source or names - kinds().keys():
        raise TableError(
            f"{file.name}: {fact.key} lacks a listed rule, what it is about, a sentence or a source, or names concepts "
            f"that lexicon.csv lacks: {sorted(names - kinds().keys())}."
        )
    return fact


def _groups(cell: str) -> Groups:
    return tuple(frozenset(word.split("/")) for word in cell.split() if word[0] != "!")


def amount(text: str) -> Amount:
    """Parse an amount of a cell, such as `>=30 %`. Raise `ValueError` or `KeyError` where it is none."""
    sign = next((sign for sign in _SIGNS if text.startswith(sign)), "")
    return Amount(quantity(text.removeprefix(sign)), sign)


def _reference(text: str) -> Reference:
    return Reference("annex", text.removeprefix("annex ")) if text.startswith("annex ") else Reference("article", text)
