"""Defines the assets that no company owns: the jurisdiction catalogue and the rule-sets."""
