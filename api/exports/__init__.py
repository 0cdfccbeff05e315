"""Exports of the whole portfolio as files: over REST, and by `pcds export`."""
