"""What tonnes oblige to: the thresholds of each market, and where a company stands against them."""
