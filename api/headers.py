"""What every answer says of itself: it is not kept by anybody, and it is of the type that it names.

An answer that may be kept says so itself (`api.answers.kept`), and stands. Added where every answer passes
(`api.correlation`), and to the few that no request leads to (`api.server.refusal`).
"""

from collections.abc import Iterable
from typing import Any, Final

NO_STORE: Final = (b"cache-control", b"no-store")
NO_SNIFFING: Final = (b"x-content-type-options", b"nosniff")
ALWAYS: Final = (NO_STORE, NO_SNIFFING)


def completed(headers: Iterable[tuple[bytes, bytes]], *more: tuple[bytes, bytes]) -> list[Any]:
    """The headers of an answer with those of every answer that it lacks, and with `more` in place of its own."""
    held = [each for each in headers if not any(each[0].lower() == name for name, _ in more)]
    names = {name.lower() for name, _ in held}
    return [*held, *(each for each in ALWAYS if each[0] not in names), *more]
