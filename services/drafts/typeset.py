"""Typesets a draft as a PDF with typst and `declaration.typ`. The content is data, and never read as markup."""

from pathlib import Path
from typing import Final

import orjson
import typst

from services.drafts.content import Draft

_TEMPLATE: Final = Path(__file__).with_name("declaration.typ")


def pdf(draft: Draft) -> bytes:
    """Return the draft as a tagged PDF (PDF/A-3a), with typst's own fonts."""
    made = typst.compile(
        _TEMPLATE.read_bytes(),
        format="pdf",
        sys_inputs={"draft": orjson.dumps(draft.as_dict()).decode()},
        ignore_system_fonts=True,
    )
    assert isinstance(made, bytes), "one document is compiled"
    return made
