"""Webhooks: where a company's changes are sent, and each change that is sent there."""
