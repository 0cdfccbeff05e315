"""Sets how long Polars' allocator keeps freed memory: for each program of the service and its readers.

A program keeps freed memory for two seconds: the next step of an import need not ask the kernel for it again. A reader
has finished with a file by then, so it keeps it for a tenth of a second. Of files that are sent at once, some are read
while others are typed and stored: with two seconds everywhere, four workbooks of 50 000 SKUs took up to 900 MiB over
idle, with these settings up to 630 (`python -m bench --only graphs`), and the same time.
"""

import sys
from typing import Final

VARIABLE: Final = "_RJEM_MALLOC_CONF"
_BY_ITSELF: Final = "background_thread:true," if sys.platform == "linux" else ""
"""A thread of the allocator returns the memory, also of a program that waits: else the next allocation does.

A forked program has no such thread (decision 0061).
"""
SETTING: Final = f"{_BY_ITSELF}dirty_decay_ms:2000,muzzy_decay_ms:0"
READER_SETTING: Final = f"{_BY_ITSELF}dirty_decay_ms:100,muzzy_decay_ms:0"
