"""The queue of what a person decides: the modules of `api` about it."""
