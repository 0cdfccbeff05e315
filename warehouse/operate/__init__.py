"""What an operator runs and watches: the modules of `warehouse` about it."""
