"""The assistants that the tests of the tools call with."""

from tests.connector.assistants import anyio_backend, assistant, assistants, service

__all__ = ["anyio_backend", "assistant", "assistants", "service"]
