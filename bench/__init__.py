"""Measures the cost of the service as ratios to a floor, measured in the same run on the same machine.

`python -m bench` prints the table. Absolute seconds mean little on a shared machine; they are printed beside the ratios
only to show what was compared. Nothing here is a test: the reader of the table checks the bounds.
"""
