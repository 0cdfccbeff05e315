"""Pages of the review queue, in which people decide what is stored."""
