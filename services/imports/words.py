"""Changes a company's own words: the values that texts in its files mean, which every import reads.

A word is checked like one of a mapping (`pipelines.reading.mapping`); the rows that are stored already stay as
they are.
"""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from pipelines.reading.columns import field_column
from pipelines.reading.grid import ReadingRefused, Table
from pipelines.reading.mapping import check_rewriting
from schemas.actors import Actor
from schemas.imports.inputs import OwnWordInput, OwnWordsInput
from schemas.imports.types import KeptMapping, OwnWordsChange
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import quote
from schemas.refusals import Refused, require
from schemas.words import fold
from warehouse.audit import ledger
from warehouse.imports import words
from warehouse.imports.words import Word
from warehouse.operate.sessions import Connection

MOST_WORDS: Final = 5_000
"""Most words of a company: each import reads all of them."""


def change_words(conn: Connection, actor: Actor, sent: OwnWordsInput, *, dry_run: bool = False) -> OwnWordsChange:
    """Store and remove words, in the caller's transaction. Raises `Refused` with every fault.

    A word replaces the company's earlier one of its field and text; removing one that does not exist does nothing.
    """
    checked = _checked(sent.words)
    gone = [(word.field, fold(word.text)) for word in sent.remove]
    change: OwnWordsChange = {"stored": len(checked), "removed": len(gone)}
    if dry_run:
        return change
    before = {**words.remove(conn, gone), **words.keep(conn, actor.company_id, checked, actor.now)}
    if words.count(conn) > MOST_WORDS:
        message = Message("A company has at most {most} words of its own.", most=MOST_WORDS)
        raise Refused([Issue("out_of_range", message, "words")])
    after = {f"{word.field}: {word.text}": word.value for word in checked}
    if before or after:
        ledger.enter(conn, actor, "own_words.updated", actor.company_id, before=before, after=after)
    return change


def _checked(sent: Iterable[OwnWordInput]) -> list[Word]:
    """Return the words as they are stored, the last of each field and text."""
    words: dict[tuple[str, str], Word] = {}
    issues: list[Issue] = []
    for at, word in enumerate(sent):
        tables: tuple[Table, ...] = ("sku", "component")
        table = next((table for table in tables if field_column(word.field, table) is not None), None)
        if table is None:
            message = Message("There is no field {name} that a file can have.", name=quote(word.field))
            issues.append(Issue("not_in_vocabulary", message, f"words[{at}].field"))
            continue
        try:
            rewriting = check_rewriting(word.field, {word.text: word.value}, table)
        except ReadingRefused as refused:
            issues += [Issue("invalid_format", issue.message, f"words[{at}].value") for issue in refused.issues]
            continue
        name, [folded] = rewriting.column.name, rewriting.cells
        words[name, folded] = Word(name, folded, word.text, word.value)
    if issues:
        raise Refused(issues)
    return list(words.values())


def remove_mapping(conn: Connection, actor: Actor, mapping_id: UUID, *, dry_run: bool = False) -> KeptMapping:
    """Remove a mapping in the caller's transaction, and return it. Raise `NotThere`."""
    kept = require(words.find(conn, mapping_id))
    if not dry_run:
        words.remove_mapping(conn, mapping_id)
        before = {kept["name"]: kept["mapping"]}
        ledger.enter(conn, actor, "import_mapping.removed", mapping_id, before=before, after={})
    return kept
