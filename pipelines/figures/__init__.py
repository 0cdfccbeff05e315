"""Computes a company's tonnes and verdicts from its snapshot, and stores them.

    portfolio.py    the snapshot as blocks of SKUs, and whether it is whole
    compute.py      figures of all markets, and the verdicts on them
    keep.py         changes since the figures before, and publishing

`compliance.rollup` and docs/figures.md define the figures; `warehouse.figures` knows where the files are.
"""
