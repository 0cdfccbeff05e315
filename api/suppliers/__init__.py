"""What suppliers are asked and what they answer: over REST, on pages of the company, and on those of a link."""
