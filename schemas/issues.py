"""Defines an issue, one fault of one field, the closed list of issue codes, and the limits on one request body.

The limits are released (docs/api.md): they may grow, never shrink. `api.http.requests` limits a body's bytes. The
code that finds a fault writes its sentence, because only that code knows the right value. The error codes of whole
answers (`invalid_body`, `not_found`, …) are in `schemas.refusals`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, TypeAlias

from schemas.messages import Message

QuestionKind: TypeAlias = Literal[
    "column", "unit", "value", "quantity", "fraction", "list", "lines", "sheet", "encoding"
]
"""What a question about a file is about (decisions §13)."""


@dataclass(frozen=True, slots=True)
class IssueCode:
    """One stable code: the fault, the remedy, and an example of a refused value."""

    meaning: str
    remedy: str
    example: str


ISSUE_CODES: Final[dict[str, IssueCode]] = {
    "required": IssueCode(
        "A field, part or parameter that must be there is missing.",
        "Send the field; a part or parameter under the name that `field` gives.",
        '{"sku_code": "A-1"} without name',
    ),
    "unknown_field": IssueCode(
        "The field is not part of the contract.",
        "Leave the field out, or correct its spelling by the field tables.",
        '{"sku_code": "A-1", "name": "Bottle", "colour": "red"}',
    ),
    "invalid_type": IssueCode(
        "The value has another JSON type than the field.",
        "Send the JSON type that the field table names: a number without quotes, true or false, an array.",
        '"weight_grams": "12.5"',
    ),
    "invalid_format": IssueCode(
        "The value does not have the form that the field asks for.",
        "Send the form that the message describes, such as a UUID, a date as YYYY-MM-DD, or JSON that parses.",
        '"brand_id": "brand-7"',
    ),
    "not_in_vocabulary": IssueCode(
        "The value is not one of the field's codes.",
        "Send one of the codes of the vocabulary, in lower case as published.",
        '"material": "Plastik"',
    ),
    "out_of_range": IssueCode(
        "The number lies outside the field's bounds.",
        "Send a number within the bounds of the field table, in the field's unit.",
        '"empty_space_ratio": 140',
    ),
    "too_short": IssueCode(
        "The text has fewer characters than the field needs.",
        "Send at least the number of characters that the field table names; outer white space does not count.",
        '"name": " "',
    ),
    "too_long": IssueCode(
        "The text has more characters than the field holds.",
        "Shorten the text to the length of the field table, or the array to its number of entries.",
        "a sku_code of 256 characters",
    ),
    "not_null": IssueCode(
        "The field cannot be cleared.",
        "Send a value, or leave the field out to keep what is stored.",
        '"name": null',
    ),
    "duplicate_row": IssueCode(
        "The same market, year and half stand twice in one body.",
        "Send one row for each market, year and half.",
        "two rows of FR, 2026, half 0",
    ),
    "duplicate_sku_code": IssueCode(
        "The same sku_code stands twice; the first row counts.",
        "Send each sku_code once; merge the later row into the first.",
        "A-1 in line 4 and again in line 9",
    ),
    "sku_code_mismatch": IssueCode(
        "The body's sku_code is not the code of the addressed SKU.",
        "Send the code of the addressed SKU, or POST to /skus to write another one.",
        'PUT to the SKU A-1 with "sku_code": "A-2"',
    ),
    "sku_code_taken": IssueCode(
        "Another SKU has this sku_code, archived or not.",
        "Choose another code, or rename the other SKU first.",
        '{"sku_code": "A-2"} to the SKU A-1 where A-2 is held',
    ),
    "sku_code_former": IssueCode(
        "The sku_code was another one's before it was renamed; the message names its code of today.",
        "Send the code of today, or have the former code freed first, by a person or an operation.",
        "A-1 after it was renamed to A-2",
    ),
    "name_taken": IssueCode(
        "Another brand, site or supplier has the name; case and accents do not count.",
        "Choose another name, or use the record that has it.",
        '{"name": "ACME"} where Acme is held',
    ),
    "code_taken": IssueCode(
        "Another shared component has the code.",
        "Choose another code, or use the component that has it.",
        '{"code": "CAP-1"} where CAP-1 is held',
    ),
    "unknown_reference": IssueCode(
        "The id names no record of the company.",
        "Look the id up in the list that resolves it (brands, sites, components), and send one from there.",
        '"brand_id": "00000000-0000-4000-8000-000000000000"',
    ),
    "unknown_market": IssueCode(
        "The code is no ISO 3166 country or subdivision.",
        "Send an ISO 3166-1 alpha-2 code or a subdivision such as ES-CT; volumes need a code of /jurisdictions.",
        '"markets": ["XX"]',
    ),
    "invalid_gtin": IssueCode(
        "The GTIN has the wrong length or check digit.",
        "Compare the number with the barcode: 8, 12, 13 or 14 digits with the right last digit, or null.",
        '"gtin": "4006381333932"',
    ),
    "invalid_number": IssueCode(
        "The cell is no number.",
        "Write the cell as a plain number in the column's unit.",
        "a cell of a weight column with “about 12”",
    ),
    "ambiguous_number": IssueCode(
        "The number can be read in two ways and nothing in the file decides.",
        "Say `decimal` in the mapping (`,` or `.`), or write the number without a thousands separator.",
        "1.234 in a column where no other number decides",
    ),
    "value_range": IssueCode(
        "The cell holds a range where one number is asked for.",
        "Decide on one number and write it.",
        "84-86",
    ),
    "unknown_unit": IssueCode(
        "The unit in the cell is not one that the field can be converted from.",
        "Convert to the unit of the field, or write one of the units that the message names.",
        "12 stone",
    ),
    "digits_lost": IssueCode(
        "A spreadsheet has rounded the number; its digits must come from the source.",
        "Format the column as text in the source and export again.",
        "4.00638E+12 in a column of GTINs",
    ),
    "invalid_date": IssueCode(
        "The cell is no date.",
        "Write the date as YYYY-MM-DD.",
        "31.02.2026",
    ),
    "ambiguous_date": IssueCode(
        "The date can be read in two ways.",
        "Write the date as YYYY-MM-DD, which has one reading.",
        "03/04/2026",
    ),
    "cell_error": IssueCode(
        "The cell holds a spreadsheet error such as #N/A.",
        "Correct the formula in the spreadsheet, or empty the cell.",
        "#N/A",
    ),
    "no_value": IssueCode(
        "The cell holds a formula without a stored value.",
        "Open the workbook in a spreadsheet program, let it calculate, and save it.",
        "a workbook that a program wrote and no spreadsheet has opened",
    ),
    "ragged_row": IssueCode(
        "The row has another number of cells than the header.",
        "Quote cells that hold the delimiter, so that every line has as many cells as the header.",
        "seven cells below a header of six",
    ),
    "undecodable": IssueCode(
        "The line holds bytes that the file's encoding does not know.",
        "Save the file as UTF-8.",
        "a line of Latin-1 in a file of UTF-8",
    ),
    "no_table": IssueCode(
        "No table with a header row was found.",
        "Send a sheet with a header row; name it with `sheet` and `header_row` in the mapping where it is not found.",
        "a workbook whose sheets hold only a cover page",
    ),
    "missing_column": IssueCode(
        "No column fits a field that must be there.",
        "Add the column, or name the one that holds the field in the mapping.",
        "a file without a column for sku_code",
    ),
    "ambiguous_column": IssueCode(
        "A header fits two fields, or two headers fit one.",
        "Rename one of the headers, or name the column of the field in the mapping.",
        "two columns headed Weight (g)",
    ),
    "no_rows": IssueCode(
        "The table has a header and no data row.",
        "Send at least one row below the header.",
        "a template that nobody filled in",
    ),
    "unreadable_file": IssueCode(
        "The file is not one that can be read.",
        "Send CSV or XLSX with the extension that fits; save an .xls or .ods file as .xlsx.",
        "an .xls file renamed to .xlsx",
    ),
    "encrypted_file": IssueCode(
        "The workbook is protected by a password.",
        "Remove the password in the spreadsheet program and save.",
        "a workbook that asks for a password",
    ),
    "too_many_rows": IssueCode(
        "The file has more data rows than one import takes.",
        "Split the file into parts of at most 50 000 rows.",
        "a file of 60 000 rows",
    ),
    "invalid_mapping": IssueCode(
        "The mapping names a column, a field or a value that does not exist.",
        "Send what the message says would be right: names that stand in the file, published fields and values.",
        '{"columns": {"weight": "Gewicht"}}, as the field is weight_grams',
    ),
    "substance_status_contradicts_value": IssueCode(
        "The declared status and the measured value disagree.",
        "Correct the status or the measured value; the message names the limit.",
        '"heavy_metals": {"status": "below_limit", "value": 250, "unit": "mg_per_kg"}',
    ),
    "conflicting_declaration": IssueCode(
        "Two fields declare the same substance differently.",
        "Send only the `substances` entry; the older field is read from it.",
        '"bpa_present": true beside "substances": {"bpa": {"status": "absent"}}',
    ),
    "pfas_food_contact_prohibited": IssueCode(
        "Article 5(5) of Regulation (EU) 2025/40 forbids it.",
        "Correct the declaration if it is wrong; the packaging may not be placed on the EU market.",
        'food_contact true, PFAS above_limit and markets ["FR"] in one record',
    ),
    "plan_limit_reached": IssueCode(
        "The write would pass the plan's number of SKUs.",
        "Ask the operator for a larger plan, or send fewer new sku_codes; known ones cost nothing.",
        "twenty new SKUs where the plan leaves room for ten",
    ),
    "unsupported_media_type": IssueCode(
        "The file's type is not accepted.",
        "Send PDF, PNG, JPEG, WebP, Word or Excel, declared as what its bytes are.",
        "a .zip file, or a PNG declared as application/pdf",
    ),
    "unknown_file_type": IssueCode(
        "The technical file's type is not in the vocabulary.",
        "Send one of the published types of technical files.",
        "type=certificate",
    ),
    "internal_error": IssueCode(
        "A fault of the service ended an import; the file is not at fault.",
        "Quote the `correlationId` of the failure to support, and send the file again when the fault is mended.",
        "an import whose run met a fault of the program",
    ),
    "ended_by_operator": IssueCode(
        "The operator of the service ended an import; the file is not at fault.",
        "Send the file again when the operator says that it may be sent.",
        "an import whose run was terminated while it was worked on",
    ),
    "not_declarable": IssueCode(
        "The market has no such declaration, or it is not the one that is asked for.",
        "Do what the message says: another period or format, the first declaration of a chain, or the new SHA-256.",
        '"market": "DE", "half": 1',
    ),
    "regulator_rule": IssueCode(
        "A published rule of the regulator refuses the file; the message has the rule's number.",
        "Correct the field that the message names, or the records behind it; nothing is kept meanwhile.",
        '"uk": {"organisation_id": "12345"}, which has five digits and not six',
    ),
    "not_counted": IssueCode(
        "The refused file leaves a SKU out.",
        "Give the facts that the message names.",
        "a bottle for a beverage without an answer about drinks containers",
    ),
    "unknown_cursor": IssueCode(
        "The company has no such place in its feed of changes.",
        "Take a new cursor with `after=now`, read the lists once, and go on from that cursor.",
        "a cursor of another company, or from before a sandbox was reset or a backup restored",
    ),
    "version_conflict": IssueCode(
        "The SKU has another version than the row's `if_version`; 0 means that it must not exist yet.",
        "Read the SKU, apply the change to what it is now, and send its new version.",
        '"if_version": 3 where the SKU has version 5',
    ),
    "sku_archived": IssueCode(
        "The SKU is archived, and archived ones are to be kept so.",
        "Leave the row out, or send `archived` as `return` so that the SKU comes back.",
        '"archived": "keep" and a row of an archived SKU',
    ),
    "more": IssueCode(
        "There are more faults than are listed; `count` says how many.",
        "Correct what is listed, and send it again.",
        "a body of 10 000 rows without a market: 100 are listed, 9 900 more are counted",
    ),
    "weight_mismatch": IssueCode(
        "The total weight and the sum of the components differ by more than 5 %.",
        "Check the total and the components; the write succeeded with both as sent.",
        '"weight_grams": 30 with components of 20 g together',
    ),
    "polymer_unresolved": IssueCode(
        "The material text is not known; it grades nothing.",
        "Choose one of the three nearest materials that the message names, if one is meant.",
        '"polymer_or_grade": "PTE"',
    ),
    "material_conflict": IssueCode(
        "The material family and the material text disagree; the text decides.",
        "Correct the family or the text, so that both say the same.",
        '"material_family": "glass", "polymer_or_grade": "PET"',
    ),
    "market_not_named": IssueCode(
        "The volume is for a market that the SKU does not name.",
        "Add the market to the SKU, or correct the row; the write succeeded.",
        'a volume for DE, and "markets": ["FR"]',
    ),
    "example_row_skipped": IssueCode(
        "The row is an example left in the template.",
        "Nothing; delete the example from the sheet if you like.",
        "the line EXAMPLE-001 of the template",
    ),
    "placed_units_remain": IssueCode(
        "The archived SKU was placed on markets; its units stay in the figures and declarations of those years.",
        "Nothing, if the units are right; clear those that were never placed, with the volumes of the SKU.",
        "a SKU that is archived with 40000 units for DE in 2025",
    ),
    "returned_from_archive": IssueCode(
        "The SKU was archived; the write brought it back and takes a place of the plan.",
        "Nothing, if the SKU is sold again; else archive it, and send `archived` as `keep` with batches and imports.",
        "a nightly batch with the code of a SKU that was archived yesterday",
    ),
    "unlikely_value": IssueCode(
        "The value is possible but far from what such packaging usually has.",
        "Check the value and its unit; the write succeeded with the value as sent.",
        "a cap of 2231 kg",
    ),
}
"""Every code of an `Issue` with its meaning and remedy: refusals first, then the eight warnings."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One fault or warning.

    `field` is the dotted path in the body (`components[0].weight_g`), or None for the whole; `row` the
    zero-based index in a body that is an array, None elsewhere. `count` is of the entry that says how many more.
    `stored_id` and `stored_at` (an instant) name the record that the request meets, where one does. Of a file that is
    refused until a question is answered, `kind`, `could_be` and `answer` are as in `source.asked` (decisions §13).
    """

    code: str
    message: Message
    field: str | None = None
    row: int | None = None
    count: int | None = None
    stored_id: str | None = None
    stored_at: str | None = None
    kind: QuestionKind | None = None
    could_be: Sequence[str] = ()
    answer: Mapping[str, object] | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the published shape.

        `row` is absent where the body is no array; an entry that only counts has no other field.
        """
        if self.count is not None:
            return {"code": self.code, "count": self.count}
        shape: dict[str, object] = {"field": self.field, "code": self.code, "message": self.message}
        if self.stored_id is not None:
            shape |= {"id": self.stored_id, "created_at": self.stored_at}
        if self.kind is not None:
            shape |= {"kind": self.kind, "could_be": [*self.could_be], "answer": dict(self.answer or {})}
        return shape if self.row is None else {**shape, "row": self.row}


def more(count: int) -> Issue:
    """Return the entry after the listed faults: how many more there are."""
    return Issue("more", Message("There are {count} more.", count=count), count=count)


MAX_COMPONENTS: Final = 500
"""Lines of one SKU's component graph, however it is sent."""

MAX_VALUES: Final = 100_000
"""JSON values in one record or array of rows: several times what 500 components or 10 000 volume rows need."""

MAX_FAULTS: Final = 100
"""Faults that an answer lists one by one; an import's report lists all."""

TOO_MANY_COMPONENTS: Final = Message("A SKU has at most {most} components.", most=MAX_COMPONENTS)


def first_hundred(issues: Sequence[Issue]) -> list[Issue]:
    """Return the first hundred faults, and an entry with the number of the others."""
    uncounted = [issue for issue in issues if issue.count is None]
    hidden = sum(issue.count or 0 for issue in issues) + max(len(uncounted) - MAX_FAULTS, 0)
    return [*islice(uncounted, MAX_FAULTS), *([more(hidden)] if hidden else [])]
