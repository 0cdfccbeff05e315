"""What data is: vocabularies, field tables, the models derived from them, error codes.

Nothing here opens a file at run time besides the word tables that lie beside the code, and nothing here
knows a database, a web request or a law. Every other room imports this one; it imports none of them.
"""
