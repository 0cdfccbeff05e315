"""Tonnes and verdicts of a company: from its snapshot to figures that are kept.

    portfolio.py    the snapshot as blocks of SKUs, and whether it is whole
    compute.py      figures of all markets, and the verdicts on them
    keep.py         what differs from the figures before, and publishing

What a figure means is `compliance.rollup` and docs/figures.md; where the files lie is `warehouse.figures`.
"""
