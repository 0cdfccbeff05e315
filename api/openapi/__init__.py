"""Completes the framework's OpenAPI document for publication; `api.openapi.document` assembles it."""
