"""Reads Excel workbooks (.xlsx) into grids of the text that their cells show. SKUs do not belong here.

The steps: `package` (the zip, with bounds, and its sheets), `cells` and `strings`, `formats` (the text that a number
cell shows), `sheets` (grids).
"""
