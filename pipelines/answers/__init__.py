"""Answers about parts, a supplier's or an assistant's: what a part was when it was asked about, and what it is.

    parts.py         the facts by which a part is known, and how two differ
    memory.py        what the parts of a request or an entry were when they were asked about
    misapplied.py    answers that were written to a part that is another one

Filing, showing and deciding answers is `services.review`.
"""
