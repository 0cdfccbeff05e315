"""The audit log over REST, on pages and by command."""
