"""From volumes and components to tonnes by category, with what could not be counted (rollup.md, steps 1 to 6).

Frames in, frames out: no database, no file but the tables. `tonnes.rollup` is the way in; what tonnes oblige to is
`compliance.obligations`.
"""
