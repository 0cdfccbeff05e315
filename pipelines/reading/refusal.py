"""Defines the refusal of a whole file: one exception with the published issues. Faults of a row belong in rows.py."""

from dataclasses import replace

from schemas.issues import Issue
from schemas.messages import Message
from schemas.report import ImportSource


class ReadingRefused(Exception):  # noqa: N818  (a verdict on a file, with its reasons; not a failure of ours)
    """The file cannot be imported as it is; `issues` says what is wrong and what would be right.

    `outline` describes the columns of a table that lacks a needed one, so that a person can say which it is.
    """

    def __init__(self, issues: list[Issue], outline: ImportSource | None = None) -> None:
        """Take at least one issue."""
        super().__init__("; ".join(issue.message for issue in issues))
        self.issues, self.outline = issues, outline

    def of_field(self, field: str | None) -> list[Issue]:
        """Return the issues; those that name no field get `field`, the part that the file came in."""
        return [replace(issue, field=issue.field or field) for issue in self.issues]


def refuse(code: str, message: Message, field: str | None = None) -> ReadingRefused:
    """Return a refusal for one reason, to be raised; `code` is one of `schemas.issues.ISSUE_CODES`."""
    return ReadingRefused([Issue(code=code, message=message, field=field)])
