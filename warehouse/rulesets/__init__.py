"""Stores rule-sets that operators added, the active version, and the regrades that an activation requested."""
