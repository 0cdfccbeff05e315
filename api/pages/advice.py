"""Says the service's messages to people: fields by their names, and what a page offers where a program sends a mapping.

The messages are those of `schemas.messages`, as the interface answers them. What a sentence quotes stays as it is.
"""

import re
from collections.abc import Mapping
from typing import Final

from api.pages.texts import text
from schemas.fields import COMPONENT, SKU
from schemas.labels import header, word
from schemas.messages import Message, translate
from schemas.vocabularies import VOCABULARIES

_FOR_PEOPLE: Final[Mapping[str, str]] = {
    "No column{sheet} is recognised as {name}. Line {line} looks most like the header and holds: {some}. "
    "Rename the right column to {name}, or name it: mapping={mapping}.": "advice.missing_column",
    "{cell} can be {fraction} or {whole}, and no other number in the file decides; "
    'write more or fewer decimals, or say the decimal mark: mapping={{"decimal": ","}}.': "advice.ambiguous_number",
    "{header} may be the product's or its packaging's, and nothing in the table says which; it is "
    "not read. If it is the packaging's, say so: "
    'mapping={{"columns": {{"{name}": "{place}"}}}}, or name the packaging in its header.': "advice.asked_column",
    "{header} stands beside weights of materials, and may be one more; it is not read. If it is, the total "
    'is too small without it: name its material, mapping={{"columns": {{"{name}": "{place}"}}}}.': "advice.material",
    "The columns {where} all fit {name}; rename or remove all but one, "
    'or say which one it is: mapping={{"columns": {{"{name}": "{likely}"}}}}.': "advice.ambiguous_column",
}
"""Messages whose advice is for programs, with the text that says what to do on the pages; the gaps are the same."""
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
    key = _FOR_PEOPLE.get(message.template) if isinstance(message, Message) else None
    if key is None or not isinstance(message, Message):
        return in_words(translate(message, lang), lang)
    gaps = {name: translate(each, lang) if isinstance(each, str) else each for name, each in message.parameters.items()}
    return in_words(text(key, lang, **gaps), lang)


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
