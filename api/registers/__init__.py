"""Registrations and mandates of a company: the modules of `api` about them."""
