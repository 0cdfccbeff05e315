"""What all REST operations share: credential, limits, errors, answers: the modules of `api` about it."""
