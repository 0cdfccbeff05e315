"""Technical files of a SKU: the modules of `api` about it."""
