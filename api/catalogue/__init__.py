"""The catalogue of jurisdictions: the modules of `api` about it."""
