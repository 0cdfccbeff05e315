"""Stores the outputs of assets in the object store, and loads them for the assets that take them.

An output is stored per company, run and asset: tables as Parquet, the rest as JSON, which is written last and without
which the output does not count. Another object names the newest run, for an asset that runs without its upstream
assets. Within a run an output is passed in memory, and read from the store only where its asset did not run there.
`pipelines.housekeeping.outputs` removes old ones.
"""

import io
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, get_args
from uuid import UUID

import dagster as dg
import polars as pl
import structlog

from pipelines.defs.imports.handover import Kept
from pipelines.engine.partitions import company_of
from schemas.json_values import JsonObject
from warehouse.objects import NoSuchObject, Objects
from warehouse.outputs import key, newest_key
from warehouse.sessions import Pool

_ABOUT: Final = "about.json"

log = structlog.get_logger(__name__)


class Outputs(dg.IOManager):
    """The outputs of one run: it stores those of partitioned assets that can be stored; others last as long as the run.

    `executor` has one thread, which stores them while the next step already works: the run's end waits for it.
    """

    def __init__(self, pool: Pool, objects: Objects, executor: Executor) -> None:
        self._pool, self._objects, self._executor = pool, objects, executor
        self._in_memory: dict[tuple[str, str, str | None], object] = {}
        self._companies: dict[str, UUID] = {}

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Keep the output in memory for this run, and store it for others."""
        if obj is None:  # materialised, with no value to pass on
            return
        self._in_memory[context.step_key, context.name, context.mapping_key] = obj
        if isinstance(obj, Kept) and context.has_asset_key and context.has_asset_partitions:
            company_id = self._company(context.asset_partition_key)
            self._executor.submit(_store_or_log, self._objects, company_id, context.asset_key, str(context.run_id), obj)

    def load_input(self, context: dg.InputContext) -> object:
        """Return the output of this run, of the run that it repeats, or the newest; None where there is none yet.

        Raises `dagster.Failure` for what is handed on in memory alone.
        """
        upstream = context.upstream_output
        assert upstream is not None, "whatever is loaded here was put out by an asset"
        in_memory_key = (upstream.step_key, upstream.name, upstream.mapping_key)
        if in_memory_key in self._in_memory:
            return self._in_memory[in_memory_key]
        wanted = context.dagster_type.typing_type
        kind = next((kind for kind in get_args(wanted) or (wanted,) if hasattr(kind, "unpacked")), None)
        if kind is None or not (context.has_asset_key and context.has_asset_partitions):
            sentence = f"{_name(context.asset_key)} hands on in memory: run what it is made from together with it."
            raise dg.Failure(sentence, allow_retries=False)
        company_id = self._company(context.asset_partition_key)
        return _load(self._objects, company_id, context.asset_key, upstream.run_id, kind.unpacked)

    def _company(self, slug: str) -> UUID:
        if slug not in self._companies:
            self._companies[slug] = company_of(self._pool, slug)
        return self._companies[slug]


def _store_or_log(objects: Objects, company_id: UUID, asset: dg.AssetKey, run_id: str, value: Kept) -> None:
    """Store an output. Where that fails the run continues: only another run that needs the output misses it."""
    try:
        _store(objects, company_id, asset, run_id, value)
    except Exception:
        log.exception("output.not_kept", asset=_name(asset), company_id=str(company_id), run_id=run_id)


def _store(objects: Objects, company_id: UUID, asset: dg.AssetKey, run_id: str, value: Kept) -> None:
    about, tables = value.packed()
    for name, table in tables.items():
        parquet = io.BytesIO()
        table.write_parquet(parquet, compression="lz4", statistics=False)
        objects.put(key(company_id, run_id, _name(asset), f"{name}.parquet"), parquet.getvalue(), durable=False)
    content = json.dumps({"about": about, "tables": list(tables)}).encode()
    objects.put(key(company_id, run_id, _name(asset), _ABOUT), content, durable=False)
    objects.put(newest_key(company_id, _name(asset)), run_id.encode(), durable=False)


def _load(
    objects: Objects,
    company_id: UUID,
    asset: dg.AssetKey,
    run_id: str | None,
    unpacked: Callable[[JsonObject, dict[str, pl.DataFrame]], object],
) -> object | None:
    name = _name(asset)
    output = None if run_id is None else _read_about(objects, company_id, name, run_id)
    if output is None:
        with suppress(NoSuchObject):
            run_id = objects.get(newest_key(company_id, name)).decode()
            output = _read_about(objects, company_id, name, run_id)
    if output is None:
        return None
    tables = {
        table: pl.read_parquet(io.BytesIO(objects.get(key(company_id, str(run_id), name, f"{table}.parquet"))))
        for table in output["tables"]
    }
    return unpacked(output["about"], tables)


def _read_about(objects: Objects, company_id: UUID, name: str, run_id: str) -> JsonObject | None:
    """Return the JSON part of a run's output; None where the run has not made the asset."""
    try:
        output: dict[str, object] = json.loads(objects.get(key(company_id, run_id, name, _ABOUT)))
    except NoSuchObject:
        return None
    return output


def _name(asset: dg.AssetKey) -> str:
    return asset.to_python_identifier()


@dg.io_manager(  # type: ignore[arg-type]  # it may yield, as any resource may
    required_resource_keys={"postgres", "object_store"},
    description="Outputs as Parquet in the object store, by company, run and asset; in memory within a run.",
)
def outputs(context: dg.InitResourceContext) -> Iterator[Outputs]:
    """Yield the outputs of a starting run."""
    postgres, store = context.resources.postgres, context.resources.object_store
    with ThreadPoolExecutor(1, thread_name_prefix="outputs") as executor:
        yield Outputs(postgres.pool, store.objects, executor)
