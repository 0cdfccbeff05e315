"""Model of the answer to a write of volumes."""

from schemas.responses.base import Answer, Issue, WrittenVersion
from schemas.responses.skus import VolumeRow


class VolumesWriteResult(Answer):
    """The rows of the request as written, or with `dry_run` as they would be; a cleared row has null units."""

    dry_run: bool
    version: WrittenVersion
    data: list[VolumeRow]
    warnings: list[Issue]
