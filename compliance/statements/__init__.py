"""Checking a statement in English, French or German against published facts: supported, contradicted or not covered.

    facts.py       the facts: articles, dates, limits, plans; rows of `rules/statements`, each with its source
    retrieval.py   which facts a statement may be about
    figures.py     figures in a text: numbers with units, dates, articles, acts
    words.py       the words of three languages: what they speak of, what they demand, what they negate
    reading.py     a statement taken apart into all of these
    judging.py     a statement against one fact, and against all

A statement is supported only where a fact says all of it: each figure, each condition, what is demanded. A word that
nobody knows, or a condition that the fact does not have, leaves it not covered. Nothing is guessed.
"""

from compliance.statements.judging import Judgement, check
from compliance.statements.retrieval import regulation, service
from compliance.statements.words import LANGS, Lang

__all__ = ["LANGS", "Judgement", "Lang", "check", "regulation", "service"]
