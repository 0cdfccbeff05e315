"""Defines the sending of changes to webhooks: a job for a company, which a sensor requests while something is due."""
