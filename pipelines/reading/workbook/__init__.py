"""Reads Excel workbooks (.xlsx) into grids of the text that their cells show. SKUs do not belong here.

The steps: `book` (the zip, with bounds, its sheets and its texts), `formats` (the text that a number cell shows),
`cells` (grids).
"""
