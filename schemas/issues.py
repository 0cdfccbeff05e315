"""The issue: one thing that is wrong with one field, and the closed list of its codes.

Sentences are made where the fault is found, because only there is known what would be right. Error codes of
whole answers (`invalid_body`, `not_found`, …) are not here but in `schemas.errors`.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class IssueCode:
    """One stable code: what is wrong, and what to do about it."""

    meaning: str
    remedy: str


ISSUE_CODES: Final[dict[str, IssueCode]] = {
    "required": IssueCode(
        "A field, part or parameter that must be there is missing.",
        "Send the field; a part or parameter under the name that `field` gives.",
    ),
    "unknown_field": IssueCode(
        "The field is not part of the contract.",
        "Leave the field out, or correct its spelling by the field tables.",
    ),
    "invalid_type": IssueCode(
        "The value has another JSON type than the field.",
        "Send the JSON type that the field table names: a number without quotes, true or false, an array.",
    ),
    "invalid_format": IssueCode(
        "The value does not have the form that the field asks for.",
        "Send the form that the message describes, such as a UUID, a date as YYYY-MM-DD, or JSON that parses.",
    ),
    "not_in_vocabulary": IssueCode(
        "The value is not one of the field's codes.",
        "Send one of the codes of the vocabulary, in lower case as published.",
    ),
    "out_of_range": IssueCode(
        "The number lies outside the field's bounds.",
        "Send a number within the bounds of the field table, in the field's unit.",
    ),
    "too_short": IssueCode(
        "The text has fewer characters than the field needs.",
        "Send at least the number of characters that the field table names; outer white space does not count.",
    ),
    "too_long": IssueCode(
        "The text has more characters than the field holds.",
        "Shorten the text to the length of the field table, or the array to its number of entries.",
    ),
    "not_null": IssueCode(
        "The field cannot be cleared.",
        "Send a value, or leave the field out to keep what is stored.",
    ),
    "duplicate_row": IssueCode(
        "The same market, year and half stand twice in one body.",
        "Send one row for each market, year and half.",
    ),
    "duplicate_sku_code": IssueCode(
        "The same sku_code stands twice; the first row counts.",
        "Send each sku_code once; merge the later row into the first.",
    ),
    "sku_code_mismatch": IssueCode(
        "The body's sku_code is not the code of the addressed SKU.",
        "Send the code of the addressed SKU, or POST to /skus to write another one.",
    ),
    "unknown_reference": IssueCode(
        "The id names no record of the company.",
        "Look the id up in the list that resolves it (brands, sites, components), and send one from there.",
    ),
    "unknown_market": IssueCode(
        "The code is no ISO 3166 country or subdivision.",
        "Send an ISO 3166-1 alpha-2 code or a subdivision such as ES-CT; volumes need a code of /jurisdictions.",
    ),
    "invalid_gtin": IssueCode(
        "The GTIN has the wrong length or check digit.",
        "Compare the number with the barcode: 8, 12, 13 or 14 digits with the right last digit, or null.",
    ),
    "invalid_number": IssueCode(
        "The cell is no number.",
        "Write the cell as a plain number in the column's unit.",
    ),
    "ambiguous_number": IssueCode(
        "The number can be read in two ways and nothing in the file decides.",
        "Say `decimal` in the mapping (`,` or `.`), or write the number without a thousands separator.",
    ),
    "value_range": IssueCode(
        "The cell holds a range where one number is asked for.",
        "Decide on one number and write it.",
    ),
    "unknown_unit": IssueCode(
        "The unit in the cell is not one that the field can be converted from.",
        "Convert to the unit of the field, or write one of the units that the message names.",
    ),
    "digits_lost": IssueCode(
        "A spreadsheet has rounded the number; its digits must come from the source.",
        "Format the column as text in the source and export again.",
    ),
    "invalid_date": IssueCode(
        "The cell is no date.",
        "Write the date as YYYY-MM-DD.",
    ),
    "ambiguous_date": IssueCode(
        "The date can be read in two ways.",
        "Write the date as YYYY-MM-DD, which has one reading.",
    ),
    "cell_error": IssueCode(
        "The cell holds a spreadsheet error such as #N/A.",
        "Correct the formula in the spreadsheet, or empty the cell.",
    ),
    "no_value": IssueCode(
        "The cell holds a formula without a stored value.",
        "Open the workbook in a spreadsheet program, let it calculate, and save it.",
    ),
    "ragged_row": IssueCode(
        "The row has another number of cells than the header.",
        "Quote cells that hold the delimiter, so that every line has as many cells as the header.",
    ),
    "undecodable": IssueCode(
        "The line holds bytes that the file's encoding does not know.",
        "Save the file as UTF-8.",
    ),
    "no_table": IssueCode(
        "No table with a header row was found.",
        "Send a sheet with a header row; name it with `sheet` and `header_row` in the mapping where it is not found.",
    ),
    "missing_column": IssueCode(
        "No column fits a field that must be there.",
        "Add the column, or name the one that holds the field in the mapping.",
    ),
    "ambiguous_column": IssueCode(
        "A header fits two fields, or two headers fit one.",
        "Rename one of the headers, or name the column of the field in the mapping.",
    ),
    "no_rows": IssueCode(
        "The table has a header and no data row.",
        "Send at least one row below the header.",
    ),
    "unreadable_file": IssueCode(
        "The file is not one that can be read.",
        "Send CSV or XLSX with the extension that fits; save an .xls or .ods file as .xlsx.",
    ),
    "encrypted_file": IssueCode(
        "The workbook is protected by a password.",
        "Remove the password in the spreadsheet program and save.",
    ),
    "too_many_rows": IssueCode(
        "The file has more data rows than one import takes.",
        "Split the file into parts of at most 50 000 rows.",
    ),
    "invalid_mapping": IssueCode(
        "The mapping names a column or field that does not exist.",
        "Send `columns` as {field: header or column letter} with names that stand in the file.",
    ),
    "substance_status_contradicts_value": IssueCode(
        "The declared status and the measured value disagree.",
        "Correct the status or the measured value; the message names the limit.",
    ),
    "conflicting_declaration": IssueCode(
        "Two fields declare the same substance differently.",
        "Send only the `substances` entry; the older field is read from it.",
    ),
    "pfas_food_contact_prohibited": IssueCode(
        "Article 5(5) of Regulation (EU) 2025/40 forbids it.",
        "Correct the declaration if it is wrong; the packaging may not be placed on the EU market.",
    ),
    "plan_limit_reached": IssueCode(
        "The write would pass the plan's number of SKUs.",
        "Ask the operator for a larger plan, or send fewer new sku_codes; known ones cost nothing.",
    ),
    "unsupported_media_type": IssueCode(
        "The file's type is not accepted.",
        "Send PDF, PNG, JPEG, WebP, Word or Excel, declared as what its bytes are.",
    ),
    "unknown_file_type": IssueCode(
        "The technical file's type is not in the vocabulary.",
        "Send one of the published types of technical files.",
    ),
    "weight_mismatch": IssueCode(
        "The total weight and the sum of the components differ by more than 5 %.",
        "Check the total and the components; the write succeeded with both as sent.",
    ),
    "polymer_unresolved": IssueCode(
        "The material text is not known; it grades nothing.",
        "Choose one of the three nearest materials that the message names, if one is meant.",
    ),
    "material_conflict": IssueCode(
        "The material family and the material text disagree; the text decides.",
        "Correct the family or the text, so that both say the same.",
    ),
    "market_not_named": IssueCode(
        "The volume is for a market that the SKU does not name.",
        "Add the market to the SKU, or correct the row; the write succeeded.",
    ),
    "example_row_skipped": IssueCode(
        "The row is an example left in the template.",
        "Nothing; delete the example from the sheet if you like.",
    ),
}
"""Every code of an `Issue` with its meaning and remedy, refusals first, then the five that only warn."""


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
