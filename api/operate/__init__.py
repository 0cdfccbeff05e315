"""What an operator runs and watches: the modules of `api` about it."""
