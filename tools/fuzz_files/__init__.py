"""Fuzzes the reader with files made from seeds: `python -m tools.fuzz_files --help`.

mutated.py    makes the file of a seed: an example cut, spliced and overwritten, or mutated as below
xml_parts.py  mutates a part of a workbook as XML
quoting.py    mutates a CSV text as records and quotation marks
reading.py    reads a file and measures its cost
"""
