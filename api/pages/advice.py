"""Says the service's messages to people: fields and codes by their names, and what a page offers where a program sends.

The messages are those of `schemas.messages`, as the interface answers them. What a sentence quotes stays as it is.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final  # Any: values that fill gaps are of any kind

from api.pages.texts import text
from schemas.errors import ERROR_CODES
from schemas.fields import COMPONENT, SKU
from schemas.issues import ISSUE_CODES
from schemas.labels import header, word
from schemas.messages import message_of, translate
from schemas.technical_files import MEDIA_TYPES
from schemas.vocabularies import VOCABULARIES

_FOR_PEOPLE: Final[Mapping[str, str]] = {
    "No column{sheet} is recognised as {name}. Line {line} looks most like the header and holds: {some}. "
    "Rename the right column to {name}, or name it: mapping={mapping}.": "advice.missing_column",
    "{cell} can be {fraction} or {whole}, and no other number in the file decides; "
    'write more or fewer decimals, or say the decimal mark: mapping={{"decimal": ","}}.': "advice.ambiguous_number",
    "{header} may be the product's or its packaging's, and nothing in the table says which; it is not read. If it is "
    "the packaging's, say so: mapping={mapping}, or name the packaging in its header.": "advice.asked_column",
    "{text} can be several parts of a packaging, or the packaging itself; the components of its items are not read. "
    "Say what it is: mapping={mapping}.": "advice.asked_part",
    "{header} may be {name}, but {text} in it was not understood; it is not read. Say its unit: mapping={mapping}, "
    "or per what it is, such as per case of 12.": "advice.open_unit",
    "{header} may be {name}, but {text} in it was not understood; it is not read. If it is, say so: "
    "mapping={mapping}.": "advice.open_column",
    "No record has the name {names}; their rows are rejected. Send mapping={mapping} so that the import makes these "
    "records, or correct the names.": "advice.new_records",
    "{header} stands beside weights of materials, and may be one more; it is not read. If it is, the total is too "
    "small without it: name its material, mapping={mapping}.": "advice.material",
    "The columns {where} all fit {name}; rename or remove all but one, or say which one it is: "
    "mapping={mapping}.": "advice.ambiguous_column",
    "Lines of one part are of several nations or periods, and {header} differs: these are totals, not the weights of "
    "one packaging. Send weights of one, or a column with the quantity of each line. If each line is a part of its "
    "own, say so: mapping={mapping}.": "advice.totals",
    "Lines {lines} give no more than a code and a name, as a legend does; they are not read. Say whether they are "
    "rows: mapping={mapping}, or read.": "advice.open_lines",
    "Several sheets have the same header: {sheets}. Say which are read: all as one table, mapping={mapping}, or one: "
    "mapping={other}.": "advice.same_header",
    "The file is not in UTF-8, and its letters can be those of several encodings: {samples}. Save it as UTF-8 (in "
    "Excel: CSV UTF-8), or say the encoding: mapping={mapping}.": "advice.encoding",
    "The numbers of {header} are all from 0 to 1: they may be fractions, 0.3 for 30 %, or percent. It is not read. "
    "Say which: mapping={mapping}, or percent.": "advice.fraction",
    "The values of {header} ({some}) can be codes of several lists: {lists}. It is not read. Say which list it is: "
    "mapping={mapping}.": "advice.code_list",
    "{header} is in tonnes, and no packaging of one item weighs so much; it is not read. If it is a total, leave it "
    "out; else say its unit: mapping={mapping}.": "advice.tonnes",
    "{header} may say {means}; {weight} is not read without an answer. Say whether to multiply or divide by it, or "
    "to ignore it: mapping={mapping}.": "advice.quantity",
    "{unit} may be the unit of {header}, or the one that the article is sold in; {header} is not read. Say the unit, "
    "mapping={mapping}, or that the column is its unit: mapping={other}.": "advice.unit_beside",
    "{value} in {header} is merged over the lines {first} to {last}, which are several SKUs: it may be each one's or "
    "all together, and is not read. Say which, multiply or divide: mapping={mapping}, or write it "
    "in each line.": "advice.merged",
    "The company has no SKU {code}.": "advice.no_item",
    "The SKU {code} has no components to ask about; write its components first.": "advice.no_parts",
    "{ids} is no component of the SKU {code}; name ids of the lines of its graph: {held}.": "advice.part_gone",
    "{count} of the components to change are not part of the SKU (any more): {ids}.": "advice.parts_gone",
    "The file is declared as {declared}, but its bytes are {found}; "
    "declare what it is, or send it as application/octet-stream.": "advice.other_kind",
    ERROR_CODES["idempotency_key_reuse"].meaning: "advice.form_sent",
    "The file's bytes are none of the kinds that are taken: {taken}.": "advice.no_kind",
    "The file has no bytes; send the document itself.": "advice.empty_file",
    "At most {limit} bytes are taken here.": "advice.too_large",
    "The measured value {value} means {implied}, but the status says {status}; "
    "send the status that the value implies, or leave the value out.": "advice.contradiction",
    "{code} is not held yet, and a new SKU needs a name.": "advice.new_name",
    "The same sku_code stands in line {line}, which counts; give each SKU one line, or another code.": (
        "advice.same_code"
    ),
    ISSUE_CODES["duplicate_sku_code"].meaning: "advice.same_code_twice",
    "There is no grade: too little is recorded of what it is made of; the SKU's grade trace says what.": (
        "advice.no_grade"
    ),
    "A fact that nobody gave could change the grade; the SKU's grade trace names it.": "advice.open_grade",
    "Send a number.": "advice.number",
    "Send a whole number.": "advice.whole_number",
    "This field must be there.": "advice.required",
    "{value} is no jurisdiction code; send ISO 3166-1 alpha-2 (FR) or a subdivision (US-CA).": "advice.market",
}
"""Messages whose advice is for programs, with the text that says what to do on the pages; the gaps are the same."""
_KINDS: Final = {kind.media_type: kind.name for kind in MEDIA_TYPES}
_GAPS: Final[Mapping[str, Callable[[Any, str], object]]] = {
    "implied": partial(word, "substance_status"),
    "status": partial(word, "substance_status"),
    "declared": lambda media_type, _: _KINDS.get(media_type, media_type),
    "found": lambda media_type, _: _KINDS.get(media_type, media_type),
    "limit": lambda limit, _: limit // 1_000_000,
}
"""What fills a gap of those texts in place of a program's code, media type or bytes."""
_CODES: Final = sorted((name for name in {**SKU, **COMPONENT} if "_" in name), key=len, reverse=True)
_UNQUOTED: Final = re.compile(rf"(?<![\w“.`])({'|'.join(_CODES)})(?![\w”.`])")
_LISTS: Final = sorted(
    ((", ".join(codes), name) for name, codes in VOCABULARIES.items() if len(codes) > 1),
    key=lambda each: len(each[0]),
    reverse=True,
)
"""Each vocabulary as a sentence lists it, the longest first."""


def said(message: str, lang: str) -> str:
    """Return a message for people in a language."""
    of_template = message_of(message)
    key = _FOR_PEOPLE.get(of_template.template)
    if key is None:
        return in_words(translate(message, lang), lang)
    gaps = {name: _filled(name, value, lang) for name, value in of_template.parameters.items()}
    return in_words(text(key, lang, **gaps), lang)


def _filled(gap: str, value: object, lang: str) -> object:
    if gap in _GAPS:
        return _GAPS[gap](value, lang)
    return translate(value, lang) if isinstance(value, str) else value


def in_words(sentence: str, lang: str) -> str:
    """Return a sentence with the names of fields for their codes, and the words of a vocabulary that it lists."""
    for codes, vocabulary in _LISTS:
        if codes in sentence:
            words = ", ".join(word(vocabulary, code, lang) for code in VOCABULARIES[vocabulary])
            sentence = sentence.replace(codes, words)
            break
    return _UNQUOTED.sub(lambda found: _name(found[1], lang), sentence)


def _name(field: str, lang: str) -> str:
    return header("sku" if field in SKU else "component", field, lang)
