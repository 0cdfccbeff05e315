"""Technical files: what the bytes are, the record of an upload, and the audit entry that goes with it.

    judge.py      which of the taken media types the bytes have, with ole.py and ooxml.py for Office's containers
    record.py     the row and its audit entry, in the caller's transaction

Receiving the bytes is the door's (`api.uploads`); what became of no record is swept by `pipelines.housekeeping`.
"""

from services.technical_files.judge import judge
from services.technical_files.record import Received, SkuUnknown, key_of, record

__all__ = ["Received", "SkuUnknown", "judge", "key_of", "record"]
