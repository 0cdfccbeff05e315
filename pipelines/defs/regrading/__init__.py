"""Defines the assets that regrade stored SKUs by the active rule-set."""
