"""Writes the names of countries by which people name markets: schemas/country_names.csv, from Unicode's CLDR.

`python -m tools.country_names`. Babel has the names in the languages of the Union and of its neighbours. A service that
took them from there would load all that Babel knows of these languages: 29 MiB and 0.25 s in each reader.
"""

import csv
from pathlib import Path
from typing import Final

import pycountry
from babel import Locale

from schemas.words import plain

TABLE: Final = Path(__file__).parents[1] / "schemas" / "country_names.csv"
_LANGUAGES: Final = (
    *("bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "ga", "hr", "hu", "is", "it", "lt", "lv", "mt", "nb"),
    *("nl", "pl", "pt", "ro", "sk", "sl", "sr", "sv", "tr", "uk"),
)


def names() -> dict[str, str]:
    """Return the codes of countries by their names; a name of two countries in two languages is none of them."""
    codes: dict[str, str | None] = {}
    for language in _LANGUAGES:
        territories = Locale(language).territories
        for country in pycountry.countries:
            name = plain(territories.get(country.alpha_2, ""))
            codes[name] = country.alpha_2 if codes.get(name, country.alpha_2) == country.alpha_2 else None
    return {name: code for name, code in codes.items() if name and code}


def main() -> None:
    """Write the table."""
    rows = sorted((code, name) for name, code in names().items())
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["name", "code"])
        table.writerows((name, code) for code, name in rows)


if __name__ == "__main__":
    main()
