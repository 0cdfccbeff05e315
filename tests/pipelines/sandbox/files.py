"""Files that are in order and cost much, so that tiny limits stop their reading, and small ones that no limit stops."""

import io
import zipfile
from functools import cache
from typing import Final

SMALL: Final = b"sku_code,name\nA-1,Bottle\n"
"""Some 50 ms of a processor, read and typed; thrice that as the first file of a reader."""

_WORD: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


@cache
def large_table() -> bytes:
    """A CSV of 49 000 rows with a cell of two lines, 0.3 s of a processor."""
    head = "sku_code,name,weight_grams,description,material_subtype,product_category,recycled_content_percent\n"
    rows = (f"S-{n},Bottle {n},{n % 900}.5,Made for line {n},PET {n % 9},category {n % 40},30\n" for n in range(49_000))
    return f'{head}S,"two\nlines",1,,,,\n{"".join(rows)}'.encode()


@cache
def large_volumes() -> bytes:
    """A CSV of 4 000 rows with 40 volumes each: a second to type, as no catalogue serves them, less to read."""
    markets = [f"annual_volume_{market}_{year}" for market in ("bw", "fj", "nz", "za") for year in range(2021, 2031)]
    rows = "".join(f"V-{n},Bottle,{','.join(str(n + at) for at in range(len(markets)))}\n" for n in range(4_000))
    return f"sku_code,name,{','.join(markets)}\n{rows}".encode()


@cache
def large_document() -> bytes:
    """A Word document of 10 000 parts, whose list of contents has nearly 1 MiB: 130 ms of a processor; a PDF takes 1.

    A limit in a test is a small part of that: the kernel counts processor time in ticks of 4 ms, and leaves out those
    in which the host of a virtual machine was busy with others.
    """
    types = f'<Types><Override PartName="/d" ContentType="{_WORD}"/>{"<a/>" * 250_000}</Types>'
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", types)
        for number in range(9_990):
            package.writestr(f"part{number}", "")
    return out.getvalue()
