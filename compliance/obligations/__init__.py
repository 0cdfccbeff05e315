"""Obligations that follow from tonnes: the thresholds of each market, and the company's position against them."""
