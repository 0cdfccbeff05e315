"""A company's registrations and mandates, over REST and on pages."""
