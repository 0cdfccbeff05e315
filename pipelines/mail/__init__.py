"""Mails to suppliers: their texts, the mail server, and the sending of what is due."""

from pipelines.mail.send import Post, send_due

__all__ = ["Post", "send_due"]
