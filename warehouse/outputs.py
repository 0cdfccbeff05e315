"""The names under which outputs of Dagster's assets lie in the object store, beside a company's files.

`<company>/outputs/<run>/<asset>/<part>`, and `<company>/outputs/newest/<asset>` with the run whose output is the
newest. What is in them is `pipelines.engine.outputs`.
"""

from typing import Final, NamedTuple, Self
from uuid import UUID

FOLDER: Final = "outputs"
_NEWEST: Final = "newest"


class Place(NamedTuple):
    """What a key names: an output's part, or with no run the newest of an asset."""

    run_id: str | None
    asset: str

    @classmethod
    def of(cls, key: str) -> Self:
        """The place of a key of this folder."""
        _, _, run_id, asset, *_ = key.split("/")
        return cls(None if run_id == _NEWEST else run_id, asset)


def key(company_id: UUID, run_id: str, asset: str, part: str) -> str:
    """Where a part of an asset's output lies that a run has made."""
    return f"{company_id}/{FOLDER}/{run_id}/{asset}/{part}"


def newest_key(company_id: UUID, asset: str) -> str:
    """Where the id of the run lies that has made the asset last."""
    return f"{company_id}/{FOLDER}/{_NEWEST}/{asset}"
