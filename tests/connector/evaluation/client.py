"""A scripted client that picks the tool for a question by the words of the list of tools, and nothing else."""

import asyncio
import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import tantivy

from compliance.statements.figures import fold
from connector.server import build_server
from connector.service import Service
from warehouse.settings import Settings

LANGS = ("en", "fr", "de")
FIELDS = {"words": 1.0, "pieces": 0.35}
"""Whole words by their stems, and pieces of four letters, which other languages share; with their weights."""
PIECE = 4


class Asked(NamedTuple):
    """A question in a language, and the tools that answer it."""

    lang: str
    text: str
    tools: frozenset[str]


def questions() -> list[Asked]:
    """The table, a row per question and language."""
    with (Path(__file__).parent / "questions.csv").open(encoding="utf-8", newline="") as file:
        return [
            Asked(lang, row[lang], frozenset(row["tools"].split("|"))) for row in csv.DictReader(file) for lang in LANGS
        ]


def published() -> list[Any]:
    """The tools as tools/list has them."""
    with TemporaryDirectory() as folder:
        service = cast(Service, SimpleNamespace(settings=Settings.load(data_dir=Path(folder))))
        return asyncio.run(build_server(service).list_tools())


class Client:
    """Searches the list of tools."""

    def __init__(self, tools: list[Any]) -> None:
        schema = tantivy.SchemaBuilder().add_text_field("name", stored=True, tokenizer_name="raw")
        for field in FIELDS:
            schema = schema.add_text_field(field, tokenizer_name=field)
        self._index = tantivy.Index(schema.build())
        words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
        self._words = words.filter(tantivy.Filter.stemmer("english")).build()
        pieces = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(PIECE, PIECE)).filter(tantivy.Filter.lowercase())
        self._pieces = pieces.build()
        self._index.register_tokenizer("words", self._words)
        self._index.register_tokenizer("pieces", self._pieces)
        writer = self._index.writer(heap_size=15_000_000, num_threads=1)
        for tool in tools:
            text = fold(" ".join(told(tool)))
            writer.add_document(tantivy.Document(name=tool.name, **dict.fromkeys(FIELDS, text)))
        writer.commit()
        self._index.reload()

    def picks(self, question: str, most: int) -> list[str]:
        """The tools that fit best, the best first."""
        text = fold(question)
        parts = [
            (tantivy.Occur.Should, tantivy.Query.boost_query(
                tantivy.Query.term_query(self._index.schema, field, term), FIELDS[field]))
            for field, analyzer in (("words", self._words), ("pieces", self._pieces))
            for term in dict.fromkeys(analyzer.analyze(text))
        ]  # fmt: skip
        searcher = self._index.searcher()
        hits = searcher.search(tantivy.Query.boolean_query(parts), limit=most).hits
        return [searcher.doc(address).to_dict()["name"][0] for _, address in hits]


def told(tool: Any) -> Iterator[str]:
    """What the list says of a tool: its name twice, as a model weighs it, its title, sentences, arguments and codes."""
    yield from (tool.name.replace("_", " "), tool.name.replace("_", " "), tool.title, tool.description)
    for name, field in tool.input_schema["properties"].items():
        yield from (name.replace("_", " "), str(field.get("description", "")))
        yield " ".join(str(code).replace("_", " ") for code in field.get("enum", ()) if code)


def measure() -> dict[str, tuple[int, int, int]]:
    """By language: questions whose first pick answers, those with one among the first three, and all."""
    client = Client(published())
    first, among, every = Counter[str](), Counter[str](), Counter[str]()
    for asked in questions():
        picked = client.picks(asked.text, 3)
        every[asked.lang] += 1
        first[asked.lang] += bool(asked.tools & set(picked[:1]))
        among[asked.lang] += bool(asked.tools & set(picked))
    return {lang: (first[lang], among[lang], every[lang]) for lang in LANGS}


def main() -> None:
    """Report k of n."""
    found = measure()
    for lang, (first, among, every) in found.items():
        print(f"{lang}: {first} of {every} by the first pick, {among} of {every} among three")
    first, among, every = (sum(each) for each in zip(*found.values(), strict=True))
    print(f"all: {first} of {every} by the first pick, {among} of {every} among three")


if __name__ == "__main__":
    main()
