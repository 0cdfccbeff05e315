"""Stores answers for repeated requests (Idempotency-Key)."""
