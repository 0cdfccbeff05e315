"""Defines the daily housekeeping: rows and files that are removed, anonymised or entered once a day."""
