"""Vocabularies, field tables, the models derived from them, and error codes: what data is.

At run time nothing here opens a file except the word tables beside the code. Nothing here knows a database, a web
request or a law. Every other package imports this one; it imports none of them.
"""
