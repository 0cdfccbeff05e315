"""The one write path: validate, resolve, merge, refuse, grade, store, and the ledger entry, in one transaction.

What belongs here: plain functions over tables of rows and a database connection, used by every request, import and
accepted proposal. What does not: Dagster, a web framework, a command line.
"""
