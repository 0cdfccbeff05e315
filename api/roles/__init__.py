"""A company's roles under the Regulation, over REST and on pages."""
