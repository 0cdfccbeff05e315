"""Defines the function that long work calls before each of its pieces."""

from collections.abc import Callable
from typing import TypeAlias

Proceed: TypeAlias = Callable[[], None]
"""Raises where the process has to end."""
