"""The catalogue of jurisdictions over REST, and the command that loads it."""
