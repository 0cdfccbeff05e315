"""Measures how well the published list of tools tells which tool answers a question, with a client that has no model.

    questions.csv   44 questions in three languages, each with the tools that answer it
    client.py       a client that picks by BM25 over names, titles, descriptions and arguments (tantivy)

`make assistant-evaluation` reports k of n by language. A model does better: it knows other languages and synonyms. The
figure says what the words of the list alone say, and falls when a description becomes worse.
"""
