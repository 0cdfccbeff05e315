"""The commands of `pcds`, one file per group; what they share is `shared`."""
