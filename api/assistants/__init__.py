"""Assistants: connections, consent and confirmations: the modules of `api` about it."""
