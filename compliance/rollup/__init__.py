"""Rollup: tonnes by category from volumes and components, with what could not be counted (rollup.md, steps 1 to 6).

Modules here take frames and return frames: no database, no file except the tables. Call `tonnes.rollup`.
`compliance.obligations` derives duties from tonnes.
"""
