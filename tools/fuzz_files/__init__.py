"""Files that nobody meant, made from seeds and read: `python -m tools.fuzz_files --help`.

mutated.py    the file of a seed: an example cut, spliced and overwritten, in any of the ways below
xml_parts.py  a part of a workbook, mutated as XML
quoting.py    a CSV text, mutated as records and quotation marks
reading.py    what a file costs, and how it ends
"""
