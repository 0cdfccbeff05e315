"""Stores the records that SKUs refer to: brands, sites, suppliers, library components."""
