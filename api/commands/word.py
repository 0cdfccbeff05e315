"""`pcds word`: a company's own words, the values that texts in its files mean; every import reads them."""

from typing import Annotated

import typer

from api.commands.operator import as_operator
from api.commands.shared import AsJson, CompanyId, DataDir, Refusal, show
from schemas.import_inputs import OwnWordsInput
from schemas.models import parse_body
from schemas.refusals import Refused
from services import own_words
from warehouse.imports import words

app = typer.Typer(help="A company's own words.", no_args_is_help=True)

FieldName = Annotated[str, typer.Option("--field", help="The field whose column has the text, such as material.")]
Text = Annotated[str, typer.Option("--text", help="The text in the column; case, accents and spaces do not count.")]


@app.command("list")
def list_words(*, company: CompanyId, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the words by field."""
    with as_operator(data_dir) as operator, operator.company(company) as connection:
        found = words.load(connection)
    records = [
        {"field": field, "text": text, "value": value}
        for field, texts in found.items()
        for text, value in texts.items()
    ]
    show({"words": records}, as_json=as_json)


@app.command("add")
def add_word(
    *,
    company: CompanyId,
    field: FieldName,
    text: Text,
    value: Annotated[str, typer.Option("--value", help="What it means: a value that the field can have.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Add a word, in the place of an earlier one of its field and text."""
    word = {"field": field, "text": text, "value": value}
    _change({"words": [word]}, company=company, data_dir=data_dir)
    show(word, as_json=as_json)


@app.command("remove")
def remove_word(
    *, company: CompanyId, field: FieldName, text: Text, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Remove a word; one that does not exist is gone already."""
    word = {"field": field, "text": text}
    _change({"remove": [word]}, company=company, data_dir=data_dir)
    show(word, as_json=as_json)


def _change(sent: dict[str, object], *, company: CompanyId, data_dir: DataDir) -> None:
    """Store what was asked for. Raise `Refusal`."""
    with as_operator(data_dir) as operator, operator.company(company) as connection:
        try:
            change = parse_body(OwnWordsInput, sent)
            own_words.change_words(connection, company, change, origin=operator.origin, now=operator.clock.now())
        except Refused as refused:
            raise Refusal(" ".join(str(issue.message) for issue in refused.issues)) from None
