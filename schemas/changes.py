"""Lists the changes that the feed of changes and webhooks tell: the actions of the ledger about a company's data.

Who signed in, who holds a key and what waits for review stay in the audit log.
"""

from typing import Final

from schemas.audit import ACTIONS, actions_of

CHANGED_RECORDS: Final = (
    "sku",
    "sku_volumes",
    "doc",
    "technical_file",
    "library_component",
    "brand",
    "site",
    "supplier",
    "import",
    "declaration",
)
"""The resource types of the audit log whose actions are changes of data."""

CHANGE_TYPES: Final = tuple(action for kind in CHANGED_RECORDS for action in actions_of(kind))
"""Every type of a change: an action of `schemas.audit`, by its resource."""

assert set(CHANGE_TYPES) <= ACTIONS.keys()
