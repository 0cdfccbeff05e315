"""API reference for people at /reference: pages rendered from the same OpenAPI document that machines read."""
