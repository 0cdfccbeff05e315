"""What answers of the reference have in common: their headers, and how long anyone may keep them."""

from typing import Final

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
KEPT_SECONDS: Final = 300
