"""The issue: one thing that is wrong with one field, and the closed list of its codes.

Sentences are made where the fault is found, because only there is known what would be right. Error codes of
whole answers (`invalid_body`, `not_found`, …) are not here but in `schemas.errors`.
"""

from dataclasses import dataclass
from typing import Final

ISSUE_CODES: Final[dict[str, str]] = {
    "required": "A field, part or parameter that must be there is missing.",
    "unknown_field": "The field is not part of the contract.",
    "invalid_type": "The value has another JSON type than the field.",
    "invalid_format": "The value does not have the form that the field asks for.",
    "not_in_vocabulary": "The value is not one of the field's codes.",
    "out_of_range": "The number lies outside the field's bounds.",
    "too_short": "The text has fewer characters than the field needs.",
    "too_long": "The text has more characters than the field holds.",
    "not_null": "The field cannot be cleared.",
    "duplicate_row": "The same market, year and half stand twice in one body.",
    "duplicate_sku_code": "The same sku_code stands twice; the first row counts.",
    "sku_code_mismatch": "The body's sku_code is not the code of the addressed SKU.",
    "unknown_reference": "The id names no record of the company.",
    "unknown_market": "The code is no ISO 3166 country or subdivision.",
    "invalid_gtin": "The GTIN has the wrong length or check digit.",
    "invalid_number": "The cell is no number.",
    "ambiguous_number": "The number can be read in two ways and nothing in the file decides.",
    "value_range": "The cell holds a range where one number is asked for.",
    "unknown_unit": "The unit in the cell is not one that the field can be converted from.",
    "digits_lost": "A spreadsheet has rounded the number; its digits must come from the source.",
    "invalid_date": "The cell is no date.",
    "ambiguous_date": "The date can be read in two ways.",
    "cell_error": "The cell holds a spreadsheet error such as #N/A.",
    "no_value": "The cell holds a formula without a stored value.",
    "ragged_row": "The row has another number of cells than the header.",
    "undecodable": "The line holds bytes that the file's encoding does not know.",
    "no_table": "No table with a header row was found.",
    "missing_column": "No column fits a field that must be there.",
    "ambiguous_column": "A header fits two fields, or two headers fit one.",
    "no_rows": "The table has a header and no data row.",
    "unreadable_file": "The file is not one that can be read.",
    "encrypted_file": "The workbook is protected by a password.",
    "too_many_rows": "The file has more data rows than one import takes.",
    "invalid_mapping": "The mapping names a column or field that does not exist.",
    "substance_status_contradicts_value": "The declared status and the measured value disagree.",
    "conflicting_declaration": "Two fields declare the same substance differently.",
    "pfas_food_contact_prohibited": "Article 5(5) of Regulation (EU) 2025/40 forbids it.",
    "plan_limit_reached": "The write would pass the plan's number of SKUs.",
    "unsupported_media_type": "The file's type is not accepted.",
    "unknown_file_type": "The technical file's type is not in the vocabulary.",
    "weight_mismatch": "The total weight and the sum of the components differ by more than 5 %.",
    "polymer_unresolved": "The material text is not known; it grades nothing.",
    "material_conflict": "The material family and the material text disagree; the text decides.",
    "market_not_named": "The volume is for a market that the SKU does not name.",
    "example_row_skipped": "The row is an example left in the template.",
}
"""Every code of an `Issue` with its meaning, refusals first, then the five that only warn."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One fault or warning.

    `field` is the dotted path in the body (`components[0].weight_g`), or None for the whole; `row` the
    zero-based index in a body that is an array, None elsewhere.
    """

    code: str
    message: str
    field: str | None = None
    row: int | None = None

    def as_dict(self) -> dict[str, object]:
        """The published shape: `row` is absent where there is no array."""
        shape: dict[str, object] = {"field": self.field, "code": self.code, "message": self.message}
        return shape if self.row is None else {**shape, "row": self.row}
