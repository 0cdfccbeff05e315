"""Computes what the law and the design guidelines say about a record: pure functions over versioned tables.

Nothing here reads a database, a clock or the network; callers pass the record, the rule-set and the day.
"""
