"""SKUs: packaging items and what is stored of them: the modules of `api` about it."""
