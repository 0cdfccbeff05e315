"""National schemes' ratings: how a national scheme would rate a pack, beside the grade of the Union's rules.

    rating.py     a scheme's tables, and the version that applies in a year; the parts that it rates together, and their
                  category in the scheme's market; the rows that apply, and the rating; the worst row decides
    settling.py   the open facts that could change a rating, found by trying their values; a SKU's rating as it is
                  published, and the ratings of its parts for a declaration

A rating is a proposal: it is computed at each read, is stored nowhere, and no declaration uses it before a person hands
it in. Materials, parts and attributes are those of `compliance.grading`; nothing is resolved again here.
"""
