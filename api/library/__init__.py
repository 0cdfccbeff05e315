"""The library: brands, sites, suppliers and shared components: the modules of `api` about it."""
