"""Completes the framework's OpenAPI document for publication; `api.document` assembles it."""
