"""Companies, their plans and test companies: the modules of `api` about it."""
