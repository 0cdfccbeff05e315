"""The steps of a write, once, for every door: validate, resolve, merge, refuse, grade, store.

Plain functions over frames and a database connection. Nothing here knows Dagster, a web framework or a command line.
"""
