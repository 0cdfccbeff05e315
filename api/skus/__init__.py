"""SKUs over REST and on pages: lists, one item, writes, batches, archive."""
