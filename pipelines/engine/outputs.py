"""Hands figures to the assets that take them: in memory within a run, else as they were stored last.

A value is stored by company and asset, over the one before: one object, so that it is whole, of its tables as Parquet
and the rest as JSON. So an asset runs alone, from what the others have left.
An import hands nothing on: it is one step.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Protocol, Self, runtime_checkable

import dagster as dg
import polars as pl

from pipelines.engine.partitions import company_of
from schemas.json_values import JsonMapping, JsonObject
from warehouse.objects import NoSuchObject, Objects
from warehouse.sessions import Pool

Packed = tuple[JsonObject, dict[str, pl.DataFrame]]
"""The values that are not tables, as JSON types, and the tables by name."""


@runtime_checkable
class Kept(Protocol):
    """A value that outlives its run."""

    def packed(self) -> Packed:
        """Return its parts."""

    @classmethod
    def unpacked(cls, about: JsonMapping, tables: Mapping[str, pl.DataFrame]) -> Self:
        """Return the value of these parts."""


class Outputs(dg.IOManager):
    """The outputs of one run; those of partitioned assets are stored where they can be."""

    def __init__(self, pool: Pool, objects: Objects) -> None:
        self._pool, self._objects = pool, objects
        self._in_memory: dict[dg.AssetKey, object] = {}

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Keep the output in memory for this run, and store it for others."""
        if not context.has_asset_key:
            return
        self._in_memory[context.asset_key] = obj
        if isinstance(obj, Kept):
            self._objects.put(self._key(context), _zipped(*obj.packed()), durable=False)

    def load_input(self, context: dg.InputContext) -> object:
        """Return the output of this run, else the newest. Raises `dagster.Failure` where there is none."""
        if context.asset_key in self._in_memory:
            return self._in_memory[context.asset_key]
        try:
            stored = self._objects.get(self._key(context))
        except NoSuchObject:
            sentence = f"{context.asset_key.to_user_string()} was never made for this company: make it first."
            raise dg.Failure(sentence, allow_retries=False) from None
        kind: type[Kept] = context.dagster_type.typing_type
        return kind.unpacked(*_unzipped(stored))

    def _key(self, context: dg.OutputContext | dg.InputContext) -> str:
        company_id = company_of(self._pool, context.asset_partition_key)
        return f"{company_id}/outputs/{context.asset_key.to_python_identifier()}.zip"


def _zipped(about: JsonObject, tables: Mapping[str, pl.DataFrame]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as parts:
        parts.writestr("about.json", json.dumps(about))
        for name, table in tables.items():
            with parts.open(f"{name}.parquet", "w") as part:
                table.write_parquet(part, compression="lz4", statistics=False)
    return content.getvalue()


def _unzipped(stored: bytes) -> Packed:
    with zipfile.ZipFile(io.BytesIO(stored)) as parts:
        names = [name for name in parts.namelist() if name.endswith(".parquet")]
        tables = {name.removesuffix(".parquet"): pl.read_parquet(parts.read(name)) for name in names}
        return json.loads(parts.read("about.json")), tables


@dg.io_manager(
    required_resource_keys={"postgres", "object_store"},
    description="Figures as Parquet in the object store, by company and asset; in memory within a run.",
)
def outputs(context: dg.InitResourceContext) -> Outputs:
    """Return the outputs of a starting run."""
    return Outputs(context.resources.postgres, context.resources.object_store)
