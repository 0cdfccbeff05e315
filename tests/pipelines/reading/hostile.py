"""Files that are made to cost their reader far more than their size: small, and each with a name.

Every function gives the bytes of one file; `TABLES` are files to import, `DOCUMENTS` are technical files. The tests
read each within the budget of `budget.py`, and whoever tries a running service can send the same ones. Files that are
large by themselves are `test_bounds.py`.
"""

from collections.abc import Callable
from typing import Final

import pycountry

from schemas.fields import COMPONENT_FIELDS
from tests.pipelines.reading.writing import package, raw_workbook, sheet_xml


def _line(number: int, *cells: str) -> str:
    """A row of cells whose XML is given from the type on: `t="s"><v>0</v>`."""
    made = "".join(f'<c r="{letter}{number}" {cell}</c>' for letter, cell in zip("ABC", cells, strict=False))
    return f'<row r="{number}">{made}</row>'


def _text(text: str) -> str:
    return f't="inlineStr"><is><t>{text}</t></is>'


def _sheet(cell: str, header: str = "weight_grams") -> bytes:
    """A sheet of one line whose third cell is `cell`, below `header`."""
    names = _line(1, _text("sku_code"), _text("name"), _text(header))
    return sheet_xml(names + _line(2, _text("A"), _text("B"), cell))


def _shared(texts: bytes, before: bytes = b"") -> bytes:
    """A workbook whose one line shows the first of its shared texts, whose XML is given."""
    table = before + b"<sst><si><t>" + texts + b"</t></si></sst>"
    return raw_workbook(_sheet('t="s"><v>0</v>', "description"), sharedStrings=table)


def _formatted(code: str, value: str = "1", header: str = "description") -> bytes:
    """A workbook whose one line has a number under a number format."""
    styles = (
        f'<styleSheet><numFmts><numFmt numFmtId="170" formatCode="{code}"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></styleSheet>'
    )
    return raw_workbook(_sheet(f's="1"><v>{value}</v>', header), styles=styles.encode())


def _csv(cell: str, header: str = "weight_grams") -> bytes:
    return f"sku_code;name;{header}\nA;B;{cell}\n".encode()


def open_elements() -> bytes:
    """An Office package whose list of types opens one element 8 000 times and ends none."""
    return package({"[Content_Types].xml": b"<Types>" + b"<Override " * 8_000})


def open_elements_of_a_megabyte() -> bytes:
    """The same at the size that is read at most."""
    return package({"[Content_Types].xml": b"<Types>" + b"<Override " * 100_000})


def types_with_entities() -> bytes:
    """A list of types whose type is an entity that grows eightfold nine times."""
    grown = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 8}">' for n in range(9))
    names = f'<!DOCTYPE Types [<!ENTITY a0 "aaaaaaaa">{grown}]><Types><Override ContentType="&a9;"/></Types>'
    return package({"[Content_Types].xml": names.encode()})


def dtd_behind_a_comment(encoding: str = "utf-8") -> bytes:
    """A workbook whose shared text is an entity: eight kilobytes that become 300 MiB."""
    comment = f"<!--{' ' * 300 * 1024}-->"
    value = "A" * 90_000
    dtd = f'<!DOCTYPE sst [<!ENTITY a "{value}">]>'
    uses = "&a;" * 3_700
    text = f'<?xml version="1.0" encoding="{encoding}"?>{comment}{dtd}<sst><si ><t>{uses}</t></si></sst>'
    return raw_workbook(_sheet('t="s"><v>0</v>', "description"), sharedStrings=text.encode(encoding))


def dtd_in_utf_16() -> bytes:
    """The same in UTF-16, in which no search for ASCII letters finds it."""
    return dtd_behind_a_comment("utf-16")


def dtd_of_a_sheet() -> bytes:
    """A sheet whose cell is an entity, declared behind a comment."""
    comment, value = b"<!--" + b" " * 300 * 1024 + b"-->", b"A" * 60_000
    dtd = comment + b'<!DOCTYPE worksheet [<!ENTITY a "' + value + b'">]>'
    cells = _sheet(_text("&a;" * 5_000), "description")
    return raw_workbook(dtd + cells.replace(b"<c ", b"<c  "))  # the patterns do not know two spaces: a parser reads it


def dtd_of_a_book() -> bytes:
    """A list of sheets with an entity in the name of one, declared behind a comment."""
    comment, value = b"<!--" + b" " * 300 * 1024 + b"-->", b"A" * 60_000
    names = b'<workbook><sheets><sheet name="' + b"&a;" * 5_000 + b'" sheetId="1" id="rId1"/></sheets></workbook>'
    relations = (
        b'<Relationships><Relationship Id="rId1" Type="x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'
    )
    return package(
        {
            "xl/workbook.xml": comment + b'<!DOCTYPE workbook [<!ENTITY a "' + value + b'">]>' + names,
            "xl/_rels/workbook.xml.rels": relations,
            "xl/worksheets/sheet1.xml": _sheet("><v>1</v>"),
        }
    )


def five_thousand_sheets() -> bytes:
    """A workbook whose sheets have no header, all of them the same part of other words."""
    words = "".join(
        _line(n, *(_text(f"packaging weight of the glass bottle {n} {at}") for at in range(3))) for n in range(1, 41)
    )
    sheets = "".join(f'<sheet name="S{n}" sheetId="{n}" id="rId1"/>' for n in range(5_000))
    relation = '<Relationship Id="rId1" Type="x/worksheet" Target="worksheets/sheet1.xml"/>'
    return package(
        {
            "xl/workbook.xml": f"<workbook><sheets>{sheets}</sheets></workbook>".encode(),
            "xl/_rels/workbook.xml.rels": f"<Relationships>{relation}</Relationships>".encode(),
            "xl/worksheets/sheet1.xml": sheet_xml(words),
        }
    )


def headers_of_many_words(lines: int = 40, columns: int = 400) -> bytes:
    """Lines of texts that all look like headers and are none, each another one."""
    words = "packaging weight of the primary glass bottle in the second box"
    made = (";".join(f"{words} {line} {column}" for column in range(columns)) for line in range(lines))
    return ("\n".join(made) + "\n").encode()


def headers_with_notes(lines: int = 40, columns: int = 400) -> bytes:
    """Lines of as many words as a header can have, all of them known, in notes and around terms."""
    text = "packaging weight (glass bottle, {}, of the second box) material"
    made = (";".join(text.format(f"{line} {column}") for column in range(columns)) for line in range(lines))
    return ("\n".join(made) + "\n").encode()


def columns_of_volumes(columns: int = 3_000) -> bytes:
    """A file of volumes of every market, of a hundred years, which stand beside those of a region."""
    regions = sorted(str(part.code) for part in pycountry.subdivisions)[:columns]
    names = ";".join("annual_volume_" + code.lower().replace("-", "_") for code in regions)
    lines = [f"S{year};N;{year}" + ";1" * len(regions) for year in range(2000, 2101)]
    return f"sku_code;name;volume_year;{names}\n".encode() + "\n".join(lines).encode()


def columns_of_parts() -> bytes:
    """A line of a hundred components side by side, with all that a component can have."""
    fields = [field.name for field in COMPONENT_FIELDS if field.kind not in ("substances", "components")]
    names = [f"packagings_{number}_{field}" for number in range(1, 100) for field in fields]
    lines = (";".join([f"A{number}", "B", *["an 35"] * len(names)]) for number in range(5))
    return (";".join(["sku_code", "name", *names]) + "\n" + "\n".join(lines) + "\n").encode()


REPEATED: Final = (
    " ",
    "a",
    "1",
    "1 ",
    "1,",
    "1.",
    "1-",
    "- ",
    "/ ",
    " / ",
    "a - ",
    "(",
    "[",
    "%",
    "1%",
    "1 % a / ",
    "'",
    "_",
    "\u00a0",
    "e\u0301\u0316",
    "\u0f73",
    "é",
    "e9",
    "FR;",
    "annual volume ",
    "glass ",
    "\u200b",
    "<",
    "#",
    "=",
    "-1e",
)
"""What cells and headers are filled with, again and again."""
_KINDS: Final = (
    "weight_grams",
    "recycled_content_percent",
    "material",
    "material_subtype",
    "packaging_format",
    "food_contact",
    "markets",
    "gtin",
    "use_contexts",
    "heavy_metals_sum_ppm",
    "brand_id",
    "packaging_level",
    "description",
    "packagings_1_material",
    "packagings_1_weight",
    "unit",
    "annual_volume_fr",
)
"""A column for every way to read a cell."""


def repeated(text: str, length: int = 16_000) -> bytes:
    """A file that has a text again and again in a cell of every kind, and in a header."""
    cell = "1" + text * (length // len(text)) + "x"
    quoted = '"' + cell.replace('"', '""') + '"'
    header = ";".join(["sku_code", "name", *_KINDS, quoted.replace('"1', '"w', 1)])
    return f"{header}\n{';'.join(['A', 'B', *[quoted] * len(_KINDS), 'x'])}\n".encode()


TABLES: Final[dict[str, Callable[[], bytes]]] = {
    "a DTD behind a comment": dtd_behind_a_comment,
    "a DTD in UTF-16": dtd_in_utf_16,
    "a DTD of a sheet": dtd_of_a_sheet,
    "a DTD of a book": dtd_of_a_book,
    "a day of 400 000 digits": lambda: _formatted("yyyy-mm-dd", "1E+400000"),
    "a percentage of 400 000 digits": lambda: _formatted("0.0%", "1E+400000"),
    "a percentage of a weight": lambda: _formatted("0.0%", "1E+400000", "weight_grams"),
    "a padded number far below one": lambda: _formatted("00000", "1E-400000"),
    "a number of 10 000 zeros": lambda: _formatted("0" * 200_000, "1"),
    "a number of 200 000 decimals": lambda: _formatted("0." + "0" * 200_000, "1"),
    "a plain number of 400 000 digits": lambda: raw_workbook(_sheet("><v>1E+400000</v>", "description")),
    "a number written in a million digits": lambda: raw_workbook(_sheet(f"><v>{'9' * 1_000_000}</v>", "description")),
    "an exponent of a million digits": lambda: raw_workbook(_sheet(f"><v>1E{'9' * 1_000_000}</v>", "description")),
    "rows that are opened only": lambda: raw_workbook(
        sheet_xml("<row " * 16_000 + " hidden>").replace(b"</sheetData>", b"<row></row></sheetData>")
    ),
    "rows of many attributes": lambda: raw_workbook(sheet_xml("<row" + ' hidden="0"' * 100_000 + "></row>")),
    "a hidden column in many words": lambda: raw_workbook(sheet_xml("<col " + "hidden=" * 100_000 + ">")),
    "a number format of brackets": lambda: _formatted("[" * 40_000),
    "a number format of quotation marks": lambda: _formatted("&quot;" * 40_001),
    "a number format of zeros": lambda: _formatted("0" * 40_000 + "x"),
    "number formats in a thousand styles": lambda: raw_workbook(
        _sheet('s="1"><v>1</v>', "description"),
        styles=b'<styleSheet><numFmts><numFmt numFmtId="170" formatCode="' + b"[" * 40_000 + b'"/></numFmts><cellXfs>'
        + b'<xf numFmtId="170"/>' * 1_000 + b"</cellXfs></styleSheet>",
    ),
    "a header of spaces": lambda: _csv("1", "w" + " " * 16_000 + "x"),
    "a header of line breaks": lambda: _csv("1", '"w' + "\n" * 16_000 + 'x"'),
    "a header of slashes": lambda: _csv("1", "a / " * 8_000),
    "a header of brackets": lambda: _csv("1", "(" * 16_000),
    "a header of words": lambda: _csv("1", "annual volume " + "a " * 16_000),
    "forty headers of spaces": lambda: b"sku_code;name;" + b";".join([b"w" + b" " * 16_000 + b"x"] * 40) + b"\nA;B\n",
    "a header of spaces in a workbook": lambda: raw_workbook(_sheet("><v>1</v>", "w" + " " * 16_000 + "x")),
    "a weight of spaces": lambda: _csv("1" + " " * 12_000 + "x"),
    "a weight of digits and spaces": lambda: _csv("1 " * 6_000 + "x"),
    "a weight of digits": lambda: _csv("1" * 12_000 + "x"),
    "a weight of marks": lambda: _csv("1," * 6_000 + "x"),
    "a weight of hyphens": lambda: _csv("1-" * 6_000 + "x"),
    "a weight of letters": lambda: _csv("1" + "x" * 12_000),
    "a weight of spaces in a workbook": lambda: raw_workbook(_sheet(_text("1" + " " * 12_000 + "x"))),
    "a weight beside its unit": lambda: b"sku_code;name;weight_grams;weight_unit\nA;B;1" + b" " * 12_000 + b"x;g\n",
    "a weight with an exponent of digits": lambda: _csv("1e" + "9" * 12_000),
    "an attestation of spaces": lambda: _csv("<" + " " * 12_000 + "x", "heavy_metals_sum_ppm"),
    "a material of spaces": lambda: _csv("a" + " " * 30_000 + "b", "material"),
    "a material of slashes": lambda: _csv("a / " * 8_000, "material"),
    "a material of percentages": lambda: _csv("1" * 30_000, "material"),
    "materials of many shares": lambda: _csv("1 % a / " * 4_000, "material"),
    "a format of many words": lambda: _csv("a " * 16_000, "packaging_format"),
    "a detail of many words": lambda: _csv("a " * 16_000, "material_subtype"),
    "a list of many markets": lambda: _csv('"' + "FR;" * 10_000 + '"', "markets"),
    "a market of underscores": lambda: _csv("FR" + "_" * 16_000 + "x", "markets"),
    "a GTIN of hyphens": lambda: _csv("1" + "-" * 16_000 + "x", "gtin"),
    "a GTIN of zeros": lambda: _csv("1" + ".0" * 16_000 + "x", "gtin"),
    "a truth of slashes": lambda: _csv("yes/" * 8_000, "food_contact"),
    "a list of white space": lambda: _csv("a" + " " * 16_000 + "b", "use_contexts"),
    "one line of many cells among short ones": lambda: b"sku_code;name\n" + b"A;B\n" * 8_000 + b"A;" * 4_000 + b'"B',
    "a component of slashes": lambda: b"sku_code;name;component_type;material_family\nA;B;" + b"a/" * 8_000 + b";x\n",
    "a first column of marks": lambda: b"sku_code;name\n" + b"-" * 30_000 + b";x\n",
    "a first column of words": lambda: b"sku_code;name\n" + b"a " * 15_000 + b";\n",
    "lines of quotation marks": lambda: b"sku_code,name\n" + b'a","b\n' * 8_000,
    "lines of quotation marks and a semicolon": lambda: b"sku_code;name\n" + b'a";"b\n' * 8_000,
    "lines whose quotes close in the next": lambda: b"sku_code,name\n" + b'a,"b\nc"x,d\n' * 4_000,
    "an open quote in each line": lambda: b"sku_code,name\n" + b'"a,b\n' * 8_000 + b'"c"d,e\n',
    "quotes that are doubled and open": lambda: b"sku_code,name\n" + b'"a""b",""c"\n' * 5_000,
    "one quote and many lines": lambda: b'sku_code,name\n"a' + b"\n" * 48_000 + b'"x,b\n',
    "quotes in one line": lambda: b"sku_code,name\n" + b'a","b' * 10_000 + b"\n",
    "five thousand sheets": five_thousand_sheets,
    "headers of many words": headers_of_many_words,
    "headers with notes": headers_with_notes,
    "columns of volumes": columns_of_volumes,
    "columns of parts": columns_of_parts,
    "elements within each other": lambda: raw_workbook(sheet_xml("<a>" * 100_000)),
    "a bookful of nested elements": lambda: package({"xl/workbook.xml": b"<workbook>" + b"<a>" * 300_000}),
    "an attribute of a megabyte": lambda: raw_workbook(sheet_xml('<row r="' + "1" * 1_000_000 + '"/>')),
    "a column of a million letters": lambda: raw_workbook(
        sheet_xml(f'<row r="1"><c  r="{"A" * 1_000_000}1"><v>1</v></c></row>')
    ),
    "a style of 5 000 digits": lambda: raw_workbook(_sheet(f'  s="{"9" * 5_000}"><v>1</v>')),
    "a shared text that is not there": lambda: raw_workbook(_sheet(f't="s"><v>{"9" * 100_000}</v>')),
    "escapes in a text": lambda: _shared(b"_x000D_" * 50_000),
    "half escapes in a text": lambda: _shared(b"_x000" * 70_000),
    "half entities in a text": lambda: _shared(b"&#" * 100_000),
    "a formula without a value": lambda: raw_workbook(_sheet(f"><f>{'(' * 100_000}</f>", "description")),
    "cells that are opened only": lambda: raw_workbook(sheet_xml("<row>" + "<c " * 50_000 + "</row>")),
    "texts that are opened only": lambda: raw_workbook(
        _sheet('t="s"><v>0</v>'), sharedStrings=b"<sst>" + b"<si><t>" * 50_000 + b"</sst>"
    ),
}  # fmt: skip
"""Name -> a file that is sent for import."""

DOCUMENTS: Final[dict[str, Callable[[], bytes]]] = {
    "elements that are opened only": open_elements,
    "a megabyte of elements that are opened only": open_elements_of_a_megabyte,
    "entities": types_with_entities,
    "an attribute of spaces": lambda: package(
        {"[Content_Types].xml": b"<Types><Override " + b" " * 100_000 + b"ContentType" + b" " * 100_000 + b"x"}
    ),
}
"""Name -> a file that is sent as evidence, by whoever has a link."""
