"""Benchmarks: what the service costs, as ratios to a floor measured in the same run on the same machine.

`python -m bench` prints the table. Absolute seconds mean little on a shared machine and are shown beside the ratios
only to say what was compared. Nothing here is a test: a bound is checked by the reader of the table.
"""
