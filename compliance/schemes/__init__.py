"""National schemes' ratings: how a national scheme would rate a pack, beside the grade of the Union's rules.

    tables.py     a scheme's tables, and the version that applies in a year
    units.py      the parts that a scheme rates together, and their category in the scheme's market
    rating.py     the rows that apply to a unit, and the rating that follows; the worst row decides
    settling.py   the open facts that could change a rating, found by trying their values
    proposal.py   a SKU's rating as it is published, and the ratings of its parts for a declaration

A rating is a proposal: it is computed at each read, is stored nowhere, and no declaration uses it before a person hands
it in. Materials, parts and attributes are those of `compliance.grading`; nothing is resolved again here.
"""

from compliance.schemes.proposal import PartRating, part_ratings, published_open_facts, published_schemes
from compliance.schemes.tables import Scheme, of_market, of_year, versions

__all__ = [
    "PartRating",
    "Scheme",
    "of_market",
    "of_year",
    "part_ratings",
    "published_open_facts",
    "published_schemes",
    "versions",
]
