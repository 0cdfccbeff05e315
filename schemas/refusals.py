"""The two refusals of every operation: `Refused` says what is wrong, `NotThere` that the company has no such record.

Operations below the doors raise them and nothing else; each door answers them in its own form, in one place: REST and
pages in `api.refusals`, tools in `connector.tools`.
"""

from collections.abc import Sequence
from typing import Final

from schemas.errors import ERROR_CODES
from schemas.issues import Issue

_INVALID: Final = "invalid_body"


class Refused(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """What was asked for is not done, and nothing was written; `code` is one of `ERROR_CODES`."""

    def __init__(self, issues: Sequence[Issue], code: str = _INVALID) -> None:
        """`issues` is never empty; each says what would be right."""
        super().__init__("; ".join(issue.message for issue in issues))
        self.issues, self.code = issues, code

    @property
    def sentence(self) -> str:
        """Return what the whole answer says: the meaning of its code, or the one issue that it is about."""
        return (
            self.issues[0].message
            if self.code != _INVALID and len(self.issues) == 1
            else ERROR_CODES[self.code].meaning
        )


class NotThere(LookupError):  # noqa: N818  (an answer, not a fault of the program)
    """The company has no such record; what another company has is answered alike."""
