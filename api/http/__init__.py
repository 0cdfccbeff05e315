"""What every request passes: credential, limits, parameters, errors, answers."""

from typing import Final

NO_STORE: Final = (b"cache-control", b"no-store")
NO_SNIFFING: Final = (b"x-content-type-options", b"nosniff")
ALWAYS: Final = (NO_STORE, NO_SNIFFING)
"""Headers of every answer; here, because what serves connections has them before it loads the app."""
