"""Technical files of a SKU, over REST and on pages."""
