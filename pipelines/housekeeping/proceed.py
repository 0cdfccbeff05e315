"""What long work asks before each of its pieces: whether it may go on."""

from collections.abc import Callable
from typing import TypeAlias

Proceed: TypeAlias = Callable[[], None]
"""Raises where the process shall end."""
