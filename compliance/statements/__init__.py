"""Holds a statement in English, French or German against the law or the plans: provisions always, a verdict where sure.

    words.py     numbers with units, dates, articles, acts; the words of three languages as one set of concepts
                 (`rules/statements/lexicon.csv`)
    claims.py    a statement taken apart into claims: subject, demand, quantifier, figure, date, article, words unlisted
    facts.py     the provisions in the same frame, with their exceptions (`regulation.csv`, `service.csv`,
                 `exceptions.csv`)
    judging.py   comparison of a claim with a provision, slot by slot
    answers.py   the answer, with the provisions that bear on any statement; a claim that its sender has framed

Nothing is guessed: a word that no list has, or that no slot of one provision takes up, leaves a statement undecided
(docs/decisions/0087).
"""
