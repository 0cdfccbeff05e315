"""Shapes of a SKU: as a caller sends it, as it is stored, and as it is answered."""
