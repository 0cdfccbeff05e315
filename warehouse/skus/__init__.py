"""SKUs, their versions and Declarations of Conformity: tables, list pages, and where stored values came from."""
