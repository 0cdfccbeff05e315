"""Accounts: people, keys, tokens and the sign-in: the modules of `api` about it."""
