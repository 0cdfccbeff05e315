"""What kind of file uploaded bytes are: the media type by the bytes, with Office's two containers.

What belongs here: judging bytes. What does not: recording an upload (`services.technical_files`) and receiving it
(`api.uploads`).
"""

from pipelines.reading.media.judge import judge

__all__ = ["judge"]
