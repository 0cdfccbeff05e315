"""Models of the bodies about imports: a file read again, cells of rejected rows, and a company's own words."""

from typing import Annotated, Any, Final  # Any: JSON, which the mapping's own reader judges

from pydantic import AfterValidator, BeforeValidator
from pydantic import Field as PydanticField

from schemas import normalise
from schemas.json_values import JsonObject
from schemas.skus.inputs import Strict, validator, whole

MAX_IMPORT_BYTES: Final = 10 * 2**20
"""Largest file (interface v1, Limits)."""
MAX_MAPPING_NAME: Final = 100
"""Most characters of the name under which a mapping is kept."""
MAX_WORDS: Final = 1000
"""Most words of one request."""
MAX_WORD: Final = 500
"""Most characters of a word."""
MAX_CORRECTIONS: Final = 10_000
"""Most cells of one request."""


class CellCorrection(Strict):
    """A rejected row's cell: the sheet, the line of the file that was sent, the letter of its column, the new text."""

    sheet: str | None = None
    line: Annotated[int, PydanticField(ge=1), BeforeValidator(whole)]
    column: Annotated[str, PydanticField(pattern="^[A-Z]{1,3}$")]
    value: Annotated[str, PydanticField(max_length=32_767, description="The new text; an empty one clears the cell.")]


class ImportCorrections(Strict):
    """Cells of an import's rejected rows, which are imported again with them."""

    cells: Annotated[list[CellCorrection], PydanticField(max_length=MAX_CORRECTIONS)]
    dry_run: Annotated[
        bool,
        PydanticField(
            description="Left out, corrections of a dry run are a dry run, and those of an import are none.",
            json_schema_extra=lambda schema: schema.pop("default"),  # which one it is, the import decides
        ),
    ] = False


class ImportRepeat(Strict):
    """How an earlier import's file is read and imported again; the reader checks the content of `mapping`."""

    mapping: JsonObject | None = None
    dry_run: bool = False


_Word = Annotated[
    str,
    AfterValidator(validator(normalise.text, min_length=1, max_length=MAX_WORD, is_code=False)),
    PydanticField(json_schema_extra={"minLength": 1, "maxLength": MAX_WORD}),
]


class OwnWordKey(Strict):
    """A word of the company's own: a field, and a text in its column; case, accents and spaces do not count."""

    field: _Word
    text: _Word


class OwnWordInput(OwnWordKey):
    """The value that a text in a field's column means; null is an empty cell."""

    value: Annotated[Any, PydanticField(description="A text, a number, true or false, an array of texts, or null.")]


class OwnWordsInput(Strict):
    """Words to store, and words to remove."""

    words: Annotated[list[OwnWordInput], PydanticField(max_length=MAX_WORDS)] = PydanticField(default_factory=list)
    remove: Annotated[list[OwnWordKey], PydanticField(max_length=MAX_WORDS)] = PydanticField(default_factory=list)
