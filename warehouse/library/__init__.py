"""What SKUs refer to: brands, sites, suppliers, library components."""
