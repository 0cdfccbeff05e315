"""Names the roles of people in their company, in ascending order, and compares them."""

from typing import Final, Literal, get_args

Role = Literal["viewer", "editor", "approver", "administrator"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""Each role may do what the one before may: a viewer reads; an editor also sends files, asks suppliers and drafts; an
approver also decides reviews and issues declarations of conformity; an administrator also manages people."""


def includes(role: Role, needed: Role) -> bool:
    """Return whether a person with `role` may do what needs `needed`."""
    return ROLES.index(role) >= ROLES.index(needed)
