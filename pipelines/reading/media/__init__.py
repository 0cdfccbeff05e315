"""Decides the media type of uploaded bytes, with Office's two containers.

Recording an upload (`services.technical_files`) and receiving it (`api.uploads`) do not belong here.
"""

from pipelines.reading.media.judge import judge

__all__ = ["judge"]
