"""The feed of changes, and webhooks: the modules of `api` about it."""
