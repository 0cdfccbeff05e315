"""What an operator should know of records held from before a rule: codes that today's form makes one, or makes another.

It reports and changes nothing: which of two SKUs is meant is for the company to say.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from schemas import texts

_TABLES: Final = {"sku": ("skus", "sku_code"), "library_component": ("library_components", "code")}
_UNUSUAL: Final = "SELECT {code} FROM {table} WHERE {code} ~ '[^ -~]' OR {code} <> btrim({code}) ORDER BY {code}"
_ALIKE: Final = "SELECT {code} FROM {table} WHERE {code} = ANY(%s::text[])"


@dataclass(frozen=True, slots=True)
class Finding:
    """Codes of one company that are stored in another form than new ones.

    With several `codes`, they are one code now: they collide. With a single one, whoever sends it means `form`, so that
    a new record is made.
    """

    record: str
    form: str
    codes: tuple[str, ...]

    @property
    def collides(self) -> bool:
        """Whether several records have the code."""
        return len(self.codes) > 1


def codes(conn: psycopg.Connection[Any]) -> list[Finding]:
    """The findings of the session's company."""
    found = []
    for record, (table, column) in _TABLES.items():
        names = {"table": table, "code": column}
        by_form: defaultdict[str, set[str]] = defaultdict(set)
        for (held,) in conn.execute(_UNUSUAL.format(**names)):
            if (form := texts.code(held)) != held:
                by_form[form].add(held)
        for (held,) in conn.execute(_ALIKE.format(**names), [list(by_form)]):
            by_form[held].add(held)
        found += [Finding(record, form, tuple(sorted(held))) for form, held in sorted(by_form.items())]
    return found
