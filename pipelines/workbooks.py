"""Writes workbooks whose texts are read back as they were: the one door to xlsxwriter for data of a company.

A workbook writes a character that XML cannot contain as `_x0041_`, and so has to escape a text that looks like that
(ECMA-376 Part 1, section 22.9.2.19). xlsxwriter 3.2 misses one that shares its first `_` with the one before it.
"""

import re

from xlsxwriter import Workbook, xmlwriter

xmlwriter.re_control_chars_1 = re.compile("(_)(?=x[0-9a-fA-F]{4}_)")

__all__ = ["Workbook"]
