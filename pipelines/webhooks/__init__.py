"""Sends a company's changes to its webhooks: signed, in order for each SKU, again until they are taken."""

from pipelines.webhooks.deliver import deliver_due
from pipelines.webhooks.sender import Notice, Outcome, Sender

__all__ = ["Notice", "Outcome", "Sender", "deliver_due"]
