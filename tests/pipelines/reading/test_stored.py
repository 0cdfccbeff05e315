"""An upload between the request that reads it and the run that writes it: one table, whichever release packed it."""

import io
import json
from datetime import date

import polars as pl
from polars.testing import assert_frame_equal

from pipelines.reading import stored
from pipelines.reading.upload import read_upload

CSV = b"sku_code;name;weight_grams\nA;Bottle;12,5\nB;Cap;\n"


def test_a_table_packed_by_an_earlier_release_is_read():
    """Those were in Arrow's format; an import that was queued when the service was upgraded must not be lost."""
    upload = read_upload(CSV, "a.csv", today=date(2026, 11, 21))
    packed = stored.pack(upload.source, upload.main, upload.parts, upload.rows)
    head, _, rest = packed.partition(b"\n")
    arrow = io.BytesIO()
    pl.read_parquet(io.BytesIO(rest)).write_ipc(arrow, compression="lz4")
    about = {**json.loads(head), "sizes": [len(arrow.getvalue())]}
    earlier = json.dumps(about).encode() + b"\n" + arrow.getvalue()
    (source, main, parts, rows), now = stored.unpack(earlier), stored.unpack(packed)
    assert (source, parts, rows) == (now[0], None, 2)
    assert_frame_equal(main.table, now[1].table)
