"""The roles of a company: the modules of `api` about them."""
