"""Sets how long Polars' allocator keeps freed memory: for each program of the service and its readers.

It keeps freed memory for two seconds: the next step of an import need not ask the kernel for it again. Of files that
are read and written at once, each process has soon returned what it no longer needs: with five seconds, four workbooks
of 50 000 SKUs took 750 MiB over idle, with two 500 (`python -m bench --only graphs`).
"""

from typing import Final

VARIABLE: Final = "_RJEM_MALLOC_CONF"
SETTING: Final = "dirty_decay_ms:2000,muzzy_decay_ms:0"
