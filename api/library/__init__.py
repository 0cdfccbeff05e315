"""The library over REST, on pages and by command: brands, sites, suppliers and shared components."""
