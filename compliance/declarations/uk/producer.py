"""A producer's statements about itself and its submission, which packaging data cannot supply."""

from dataclasses import dataclass
from typing import Final

from compliance.declarations.uk.rules import FileRefused, stated_faults
from compliance.declarations.uk.tables import LARGE, MARKETPLACE, columns

_STATED: Final = frozenset(
    {"organisation_id", "subsidiary_id", "organisation_size", "submission_period", "packaging_activity"}
)


@dataclass(frozen=True, slots=True)
class Producer:
    """Codes of `rules/uk_packaging_data/codes.csv`; `household_type` is the type of sales and shipment packaging."""

    organisation_id: str
    organisation_size: str = LARGE
    activity: str = "SO"
    household_type: str = "HH"
    subsidiary_id: str = ""

    @property
    def is_large(self) -> bool:
        """Whether the organisation is large: it reports by half, with types, shapes and ratings; others by year."""
        return self.organisation_size == LARGE

    @property
    def is_marketplace(self) -> bool:
        """Whether the reported packaging was sold through an online marketplace of the producer's."""
        return self.activity == MARKETPLACE

    def row(self, period: str) -> dict[str, str]:
        """Return a row of the file with only the producer's statements."""
        return dict.fromkeys(columns(), "") | {
            "organisation_id": self.organisation_id,
            "subsidiary_id": self.subsidiary_id,
            "organisation_size": self.organisation_size,
            "submission_period": period,
            "packaging_activity": self.activity,
        }


def submission(producer: Producer, year: int, half: int) -> str:
    """Return the code of a period, `half` 0 for the year. Raise `FileRefused` with every error code that applies."""
    period = f"{year}-H{half}" if half else f"{year}-P0"
    if refused := stated_faults(producer.row(period), _STATED):
        raise FileRefused(refused)
    return period
