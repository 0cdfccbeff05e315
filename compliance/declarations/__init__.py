"""Declarations for submission: the figures of a market and period as a document, and the file of the United Kingdom.

Modules here take frames and tables and return rows and documents. `compliance.rollup` computes tonnes; writing a file
is not here.
"""
