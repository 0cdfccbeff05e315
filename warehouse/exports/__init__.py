"""Exports of whole portfolios: their rows and claims, and the tables that they contain."""
