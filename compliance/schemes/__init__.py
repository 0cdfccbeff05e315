"""Other schemes' eyes: how a national scheme would rate a pack, beside the grade of the Union's rules.

    tables.py     a scheme's tables, and which version holds in a year
    units.py      what a scheme rates together, and its category in the scheme's market
    rating.py     which rows speak of a unit, and the rating that follows; the worst row decides
    settling.py   the open facts that could change a rating, found by trying their values
    proposal.py   what is shown of a SKU, and the ratings of its parts for a declaration

A rating is a proposal: it is computed when somebody reads, is stored nowhere, and no declaration takes it before a
person hands it in. Materials, parts and attributes are those of `compliance.grading`; nothing is resolved again here.
"""

from compliance.schemes.proposal import PartRating, asked, part_ratings, shown
from compliance.schemes.tables import Scheme, of_market, of_year, versions

__all__ = ["PartRating", "Scheme", "asked", "of_market", "of_year", "part_ratings", "shown", "versions"]
