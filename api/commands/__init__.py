"""Commands of `pcds`, one module per group; `shared` has what they share."""
