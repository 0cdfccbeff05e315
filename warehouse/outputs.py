"""Names the outputs of Dagster's assets in the object store, beside a company's files.

The keys are `<company>/outputs/<run>/<asset>/<part>`, and `<company>/outputs/newest/<asset>`, which stores the run with
the newest output. The content belongs to `pipelines.engine.outputs`.
"""

from typing import Final, NamedTuple, Self
from uuid import UUID

FOLDER: Final = "outputs"
_NEWEST: Final = "newest"


class Place(NamedTuple):
    """The parts of a key: a run and its asset, or no run for the newest output of an asset."""

    run_id: str | None
    asset: str

    @classmethod
    def of(cls, key: str) -> Self:
        """Parse a key of this folder."""
        _, _, run_id, asset, *_ = key.split("/")
        return cls(None if run_id == _NEWEST else run_id, asset)


def key(company_id: UUID, run_id: str, asset: str, part: str) -> str:
    """Return the key of one part of an asset's output that a run has made."""
    return f"{company_id}/{FOLDER}/{run_id}/{asset}/{part}"


def newest_key(company_id: UUID, asset: str) -> str:
    """Return the key that stores the id of the run which made the asset last."""
    return f"{company_id}/{FOLDER}/{_NEWEST}/{asset}"
