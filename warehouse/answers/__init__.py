"""Answers that are kept for repeated requests (Idempotency-Key)."""
