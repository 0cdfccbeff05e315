"""Collects every table of the service, as SQLAlchemy Core tables on one MetaData, defined in one file per subject.

What belongs here: each file that defines a table, with its columns, keys and indexes. What does not: policies and
grants (the migrations), queries (beside each subject), and Dagster's own tables, which Dagster makes in its own schema.
"""

# ruff: noqa: F401  (a file's tables are on the MetaData once it is loaded)
from warehouse import (
    answers,
    assistants,
    catalogue,
    conformity,
    enquiries,
    exports,
    files,
    filings,
    library,
    marks,
    registers,
    review,
    roles,
    rules,
    supplier_mails,
    suppliers,
)
from warehouse.accounts import tables as accounts
from warehouse.audit import ledger
from warehouse.base import metadata
from warehouse.changes import webhooks
from warehouse.companies import profiles, queries
from warehouse.figures import snapshots
from warehouse.imports import queries as imports
from warehouse.imports import words
from warehouse.operate import launches, staff
from warehouse.skus import tables as skus

__all__ = ["metadata"]
