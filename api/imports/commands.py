"""`pcds import`: send a file to the service, follow the import, and print what was rejected and how to correct it.

The command calls the service like any caller, with a key, and needs no data directory. `pipelines.imports.rejections`
writes the report as a file to correct.
"""

import shlex
import sys
import time
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Final, cast, get_args  # Any: typer has no public name for its bar
from urllib.parse import quote

import orjson
import typer

from api.imports.summary import summary
from api.operate.program import (
    AsJson,
    Client,
    CompanyId,
    DataDir,
    Refusal,
    as_operator,
    check_choices,
    command,
    locale_language,
    show,
)
from pipelines.imports import folders
from pipelines.imports.folders import Folder
from pipelines.imports.rejections import as_csv, as_workbook, rejected_tables
from pipelines.reading.mapping import merged
from schemas.imports.inputs import OwnWordsInput
from schemas.imports.types import ImportAccepted, ImportRowError, ImportSource, ImportStatusResponse
from schemas.json_values import JsonObject
from schemas.messages import LANGUAGES, ORIGINAL, Message, translate
from schemas.normalise import Unfit
from schemas.refusals import Refused
from schemas.skus.inputs import Archived, parse_body
from schemas.suppliers import email_address
from services.imports import words as words_imports
from services.imports.workbook import template
from warehouse.imports import words
from warehouse.operate.settings import Settings

_POLL_SECONDS: Final = 1.0
"""Pause between two polls: leaves half of a key's requests per minute to other programs."""
_PAGE_SIZE: Final = 200
_PATH: Final = "/api/v1/imports"

ArchivedSkus = Annotated[
    str,
    typer.Option(
        "--archived", help="return: archived SKUs of the file come back; keep: they stay so, and the rows are rejected."
    ),
]


FileToSend = Annotated[Path | None, typer.Argument(metavar="[FILE]", exists=True, dir_okay=False, help="CSV or XLSX.")]
ApiKey = Annotated[
    str,
    typer.Option(
        "--key",
        envvar="PCDS_KEY",
        show_envvar=False,
        help="The API key; `-` reads it from standard input, and PCDS_KEY holds it where the option is left out. "
        "Either keeps it out of the list of processes.",
    ),
]
Address = Annotated[str | None, typer.Option("--url", help="Where the service answers; by default this machine's.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="The same report, and nothing is written.")]
ErrorFile = Annotated[
    Path | None,
    typer.Option("--errors", help="Writes the rejected rows here, as .csv or .xlsx, with the reasons beside them."),
]
Mappings = Annotated[
    list[str] | None,
    typer.Option("--mapping", help="What the columns are, and answers to questions, as JSON; several are joined."),
]
AnsweredImport = Annotated[
    str | None,
    typer.Option(
        "--answer",
        metavar="ID",
        help="Answers what this import asked, with --mapping; its file is read again where it is kept.",
    ),
]
MappingName = Annotated[str | None, typer.Option("--mapping-name", help="Keeps the mapping, or recalls it.")]
Language = Annotated[str | None, typer.Option("--lang", help="en, fr or de; by default the locale's.")]


def import_file(
    *,
    file: FileToSend = None,
    key: ApiKey,
    url: Address = None,
    dry_run: DryRun = False,
    errors: ErrorFile = None,
    mapping: Mappings = None,
    answer: AnsweredImport = None,
    mapping_name: MappingName = None,
    archived: ArchivedSkus = "return",
    lang: Language = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Import a file, follow it to its end, and list what was rejected by reason.

    Exit status 0 when the import completed, rejected rows or not; 1 where the file is refused as a whole.
    """
    data, mapping_text = _check_sent(file, answer, errors), mapping[0] if mapping else None
    if mapping and len(mapping) > 1:  # one alone goes as it is: the service judges it
        mapping_text = orjson.dumps(reduce(merged, map(_object, mapping))).decode()
    lang = check_choices(LANGUAGES, [lang])[0] if lang else locale_language()
    service = Client(_check_url(url) if url else Settings.load(data_dir=data_dir).base_url, _read_key(key), lang)
    mapping_fields = {
        name: value for name, value in (("mapping", mapping_text), ("mapping_name", mapping_name)) if value is not None
    }
    if file is None or data is None:
        path = f"{_PATH}/{quote(str(answer), safe='')}/repeat"
        answered = service.post(path, {"mapping": _object(mapping_text or "{}"), "dry_run": dry_run})
    else:
        query = f"dry_run={int(dry_run)}&archived={check_choices(get_args(Archived), [archived])[0]}"
        parts = {"file": (file.name, data, "application/octet-stream"), **mapping_fields}
        answered = service.send(f"{_PATH}?{query}", parts)
    accepted = cast(ImportAccepted, answered)
    finished = _poll_until_ended(service, accepted)
    fault_count = 0 if as_json and errors is None else finished["pagination"]["total"]
    faults = _load_faults(service, accepted["poll_url"], fault_count)
    written = _write(errors, data, finished["source"], faults, lang) if data and errors and faults else []
    if as_json:
        record = {name: finished.get(name, {}) for name in ("id", "status", "counts", "warning_counts")}
        show(record | {name: finished["source"].get(name, []) for name in ("asked", "readings")}, as_json=True)
        return
    typer.echo(summary(finished, faults, lang))
    if written:
        where = translate(Message("The rejected rows are in {files}.", files=", ".join(map(str, written))), lang)
        typer.echo(f"\n{where} {_how_to_resend(written, finished, mapping_fields, lang)}")


def _check_sent(file: Path | None, answer: str | None, errors: Path | None) -> bytes | None:
    """Return the bytes to send, None where an earlier file is answered. Report wrong usage before anything is sent."""
    if (file is None) == (answer is None):
        raise typer.BadParameter("Name a file, or with --answer the import whose file is kept.", param_hint="FILE")
    if file is None:
        if errors is not None:
            raise typer.BadParameter("Rejected rows are cut out of FILE, which --answer lacks.", param_hint="--errors")
        return None
    if errors is not None:
        _check_target(errors, file)
    return file.read_bytes()


def _object(mapping: str) -> JsonObject:
    try:
        value = orjson.loads(mapping)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise typer.BadParameter(f"{mapping} is no JSON object.", param_hint="--mapping")
    return value


def _check_target(errors: Path, file: Path) -> None:
    """Report a place where the rejected rows cannot be written."""
    if errors.suffix.lower() not in (".csv", ".xlsx"):
        raise typer.BadParameter("The rejected rows are written as .csv or .xlsx.", param_hint="--errors")
    if not errors.absolute().parent.is_dir():
        raise typer.BadParameter(f"There is no folder {errors.parent}.", param_hint="--errors")
    if errors.resolve() == file.resolve():
        raise typer.BadParameter("The rejected rows cannot take the place of the file itself.", param_hint="--errors")


def _check_url(url: str) -> str:
    if not url.lower().startswith(("http://", "https://")):
        raise typer.BadParameter(f"{url} is no address; write it as http://127.0.0.1:8000.", param_hint="--url")
    return url


def _read_key(option: str) -> str:
    key = sys.stdin.readline().strip() if option == "-" else option.strip()
    if not (key and key.isascii() and key.isprintable()):
        raise typer.BadParameter("A key begins with svc_ and stands in one line.", param_hint="--key")
    return key


def _poll_until_ended(service: Client, accepted: ImportAccepted) -> ImportStatusResponse:
    """Poll the import and return it when it is completed. Raise `Refusal` where it has failed."""
    with _progress("Rows", accepted["rows"]) as bar:
        while True:
            time.sleep(_POLL_SECONDS)
            now = cast(ImportStatusResponse, service.get(accepted["poll_url"], limit=1))
            bar.update(now["progress"]["done"] - bar.pos)
            if now["status"] == "completed":
                return now
            if now["status"] == "failed":
                reason = now["failure"]["message"] if now["failure"] else "no reason is given"
                raise Refusal(f"The import {now['id']} failed: {reason}")


def _load_faults(service: Client, path: str, total: int) -> list[ImportRowError]:
    """Return every fault of a finished import, page by page."""
    faults: list[ImportRowError] = []
    if total == 0:
        return faults
    with _progress("Report", total) as bar:
        while len(faults) < total and (page := service.get(path, limit=_PAGE_SIZE, offset=len(faults))["errors"]):
            faults += page
            bar.update(len(page))
    return faults


def _progress(label: str, length: int) -> Any:  # typer has no public name for its bar
    """Return a progress bar for people at a terminal; standard output is only for the report."""
    return typer.progressbar(length=max(length, 1), label=label, file=sys.stderr, hidden=not sys.stderr.isatty())


def _write(target: Path, data: bytes, source: ImportSource, faults: list[ImportRowError], lang: str) -> list[Path]:
    """Write the rejected rows; a CSV has one sheet, so that each further sheet goes into one beside it."""
    tables = rejected_tables(data, source, faults, lang)
    if target.suffix.lower() == ".csv":
        tables = [table for table in tables if table.lines]
    if target.suffix.lower() == ".xlsx":
        files = {target: as_workbook(tables)}
    else:
        parts = source["components"] and source["components"]["sheet"]
        of_skus = [table for table in tables if table.name != parts or parts == source["sheet"]]
        beside = {table.name: target.with_suffix(f".{at}.csv") for at, table in enumerate(of_skus, 1)}
        if of_skus:
            beside[of_skus[0].name] = target
        files = {
            beside.get(table.name, target.with_suffix(".components.csv")): as_csv(table, source) for table in tables
        }
    try:
        for path, content in files.items():
            path.write_bytes(content)
    except OSError as error:
        raise Refusal(f"The import is done, but {target} cannot be written: {error.strerror}.") from None
    return list(files)


def _how_to_resend(
    written: list[Path], finished: ImportStatusResponse, mapping_fields: Mapping[str, str], lang: str
) -> str:
    """Return how to send the corrected rows, with a mapping of the decimal mark that the whole file used to show."""
    if len(written) > 1:
        no_sheet = Message("A CSV has no second sheet: write an .xlsx to send SKUs and components back together.")
        return translate(no_sheet, lang)
    mapping = _object(mapping_fields["mapping"]) if "mapping" in mapping_fields else {}
    parts = finished["source"]["components"]
    marks = {**finished["source"]["decimal_marks"], **(parts["decimal_marks"] if parts else {})}
    same_format = written[0].suffix.lower() == f".{finished['source']['format']}"
    check_sentence = []
    if len(set(marks.values())) == 1 and same_format and "mapping_name" not in mapping_fields:
        mapping = {"decimal": next(iter(marks.values())), **mapping}
    elif "decimal" not in mapping and set(marks.values()) - {"."}:
        taken = ", ".join(
            translate(Message("“{mark}” in {where}", mark=mark, where=field), lang) for field, mark in marks.items()
        )
        check_sentence = [
            Message(
                "The decimal mark was taken to be {taken}: check that the numbers there can be read in no other way.",
                taken=taken,
            )
        ]
    options = [f"--mapping {shlex.quote(orjson.dumps(mapping).decode())}"] if mapping else []
    options += (
        [f"--mapping-name {shlex.quote(mapping_fields['mapping_name'])}"] if "mapping_name" in mapping_fields else []
    )
    command = " ".join(["pcds import", shlex.quote(str(written[0])), *options])
    sentences = [Message("Correct them there and send them back: {command}", command=command), *check_sentence]
    return "\n".join(translate(sentence, lang) for sentence in sentences)


def write_template(
    *,
    target: Annotated[Path, typer.Argument(metavar="OUT.xlsx", help="Where it is written.", dir_okay=False)],
    lang: Annotated[str, typer.Option("--lang", help="en, fr or de.")] = "en",
    data_dir: DataDir = None,  # noqa: ARG001  (every command takes it; this one needs no data)
    as_json: AsJson = False,
) -> None:
    """Write a workbook with both sheets, drop-downs, a comment per column and an example that an import skips."""
    check_choices(LANGUAGES, [lang])
    if target.suffix.lower() != ".xlsx":
        raise typer.BadParameter("The template is an Excel workbook: name it .xlsx.", param_hint="OUT.xlsx")
    try:
        target.write_bytes(template(lang))
    except OSError as error:
        raise Refusal(f"{target} cannot be written: {error.strerror}.") from None
    show({"file": str(target), "lang": lang}, as_json=as_json)


app = typer.Typer(help="A company's own words.", no_args_is_help=True)

FieldName = Annotated[str, typer.Option("--field", help="The field whose column has the text, such as material.")]
Text = Annotated[str, typer.Option("--text", help="The text in the column; case, accents and spaces do not count.")]


@command(app, "list")
def list_words(data_dir: Path | None, *, company: CompanyId) -> JsonObject:
    """List the words by field."""
    with as_operator(data_dir) as operator, operator.company(company) as connection:
        words_by_field = words.load(connection)
    records = [
        {"field": field, "text": text, "value": value}
        for field, texts in words_by_field.items()
        for text, value in texts.items()
    ]
    return {"words": records}


@command(app, "add")
def add_word(
    data_dir: Path | None,
    *,
    company: CompanyId,
    field: FieldName,
    text: Text,
    value: Annotated[str, typer.Option("--value", help="What it means: a value that the field can have.")],
) -> JsonObject:
    """Add a word, in the place of an earlier one of its field and text."""
    word = {"field": field, "text": text, "value": value}
    _change({"words": [word]}, company=company, data_dir=data_dir)
    return word


@command(app, "remove")
def remove_word(data_dir: Path | None, *, company: CompanyId, field: FieldName, text: Text) -> JsonObject:
    """Remove a word; one that does not exist is gone already."""
    word = {"field": field, "text": text}
    _change({"remove": [word]}, company=company, data_dir=data_dir)
    return word


def _change(sent: dict[str, object], *, company: CompanyId, data_dir: DataDir) -> None:
    """Store what was asked for. Raise `Refusal`."""
    with as_operator(data_dir) as operator, operator.company(company) as connection:
        try:
            change = parse_body(OwnWordsInput, sent)
            words_imports.change_words(connection, operator.actor(company), change)
        except Refused as refused:
            raise Refusal(" ".join(str(issue.message) for issue in refused.issues)) from None


folders_app = typer.Typer(help="Folders whose files become imports of a company.", no_args_is_help=True)

FolderPath = Annotated[
    str, typer.Argument(metavar="FOLDER", help="The folder, as every worker reaches it, or s3://bucket/prefix.")
]


@command(folders_app, "list")
def list_folders(data_dir: Path | None) -> JsonObject:
    """List the watched folders."""
    with as_operator(data_dir):
        return {"folders": [_shown(folder) for folder in folders.load(Settings.load(data_dir=data_dir).data_dir)]}


@command(folders_app, "add")
def add_folder(
    data_dir: Path | None,
    *,
    folder: FolderPath,
    company: CompanyId,
    mapping: Annotated[str | None, typer.Option("--mapping-name", help="The mapping that the company keeps.")] = None,
    mail: Annotated[str | None, typer.Option("--mail", help="Who hears by mail what came of each file.")] = None,
    language: Annotated[str, typer.Option("--language", help="Of the mails and texts: en, fr or de.")] = ORIGINAL,
) -> JsonObject:
    """Watch a folder: each new file becomes an import, read by its mapping, and moves to `done` or `failed`."""
    settings = Settings.load(data_dir=data_dir)
    check_choices(LANGUAGES, [language])
    with as_operator(data_dir) as operator, operator.company(company) as connection:
        if mapping is not None and words.recall(connection, company, mapping) is None:
            raise Refusal(f"The company keeps no mapping under the name {mapping}.")
    try:
        new = Folder(company, _path(folder), mapping, None if mail is None else email_address(mail), language)
        watched = [*folders.load(settings.data_dir), new]
        folders.check(new, settings)
    except (Unfit, OSError) as unfit:
        raise Refusal(str(unfit)) from None
    folders.save(settings.data_dir, watched)
    return _shown(new)


def _path(folder: str) -> Path | str:
    path = folders.path_of(folder)
    return path.resolve() if isinstance(path, Path) else path


@command(folders_app, "remove")
def remove_folder(data_dir: Path | None, *, folder: FolderPath) -> JsonObject:
    """Watch a folder no more; its files stay, those in `taken` as they are."""
    place = Settings.load(data_dir=data_dir).data_dir
    with as_operator(data_dir):
        watched = {other.path: other for other in folders.load(place)}
    if (gone := watched.pop(_path(folder), None)) is None:
        raise Refusal(f"{folder} is not watched; `pcds folder list` shows those that are.")
    folders.save(place, [*watched.values()])
    return _shown(gone)


def _shown(folder: Folder) -> JsonObject:
    return folder._asdict() | {"path": str(folder.path), "company_id": str(folder.company_id)}
