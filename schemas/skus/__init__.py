"""SKUs: packaging items and what is stored of them: the modules of `schemas` about it."""
