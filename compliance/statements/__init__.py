"""Checks a statement in English, French or German against published facts: supported, contradicted or not covered.

    facts.py     the facts: articles, dates, limits, plans; rows of `rules/statements`, each with its source; search of
                 the facts that may concern a statement
    figures.py   figures in a text: numbers with units, dates, articles, acts; the words of three languages: topics,
                 demands, negations
    reading.py   parsing of a statement into all of these
    judging.py   comparison of a statement with one fact, and with all

A beginning such as "is it true that" (`rules/statements/lead_ins.csv`) is read away. A statement is supported only
where a fact says all of it: each figure, each condition, each demand. An unknown word, or a condition that the fact
does not have, leaves it not covered. Nothing is guessed.
"""
