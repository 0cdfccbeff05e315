"""Searches the facts that may concern a statement: an in-memory index of every fact's concepts and sentence.

The index is built once in a process. A found fact proves nothing yet: `judging` compares it with the statement.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import tantivy

from compliance.statements import facts
from compliance.statements.facts import Fact

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
    return Corpus("regulation", facts.load("regulation"))


@lru_cache(maxsize=1)
def service() -> Corpus:
    """Return the corpus of published plans and product facts."""
    return Corpus("service", facts.load("service"))
