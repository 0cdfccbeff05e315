"""Decides the media type of uploaded bytes, with Office's two containers.

Recording an upload (`services.technical_files`) and receiving it (`api.uploads`) do not belong here.
"""

from pipelines.reading.media.detect import detect_media_type

__all__ = ["detect_media_type"]
