"""Defines the assets of declarations: a company's declaration for a market and a period, computed from its figures."""
