"""Stores Declarations of Conformity: their metadata, and those that were issued here."""
