"""Contains the runs that a command starts, one module each: its arguments, the job it runs, and its answer.

A module has `HELP`, `add_arguments(parser)` and `run(arguments, resources, open_instance)`, which raises
`dagster.Failure` where it is refused. `pipelines.engine.run` is the program; it lists the modules.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import dagster as dg

OpenInstance: TypeAlias = Callable[[], dg.DagsterInstance]
"""Opens Dagster's storage, which takes a second: a run that has nothing to do leaves it closed."""


class Answer(NamedTuple):
    """What a run changed: the published record, and the same as one sentence for a person."""

    record: Mapping[str, object]
    sentence: str
