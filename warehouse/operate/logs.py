"""Writes log lines: one JSON object a line on standard error, with the correlation id, without secrets.

What belongs here: the form of a line and what must never be in one. What does not: which events are logged.
"""

import logging
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final  # Any: structlog's own signature

import structlog
from structlog.typing import EventDict, Processor

from warehouse.operate.settings import Settings, misspelt
from warehouse.operate.surroundings import is_passing

_SECRET_NAME: Final = re.compile(
    r"api[_-]?key$|password|passwd|secret|token|authorization|cookie|key_hash|credential", re.IGNORECASE
)
_SECRET_VALUE: Final = re.compile(
    r"(\bsvc_)[A-Za-z0-9_-]+|(://[^\s:/@]*:)[^\s@]{1,512}(?=@)|(\bBearer\s+)\S+", re.IGNORECASE
)
_SIGNS: Final = ("svc_", "://", "bearer")
"""One of them is in every text that `_SECRET_VALUE` finds, and finding it takes a tenth of the time."""
_HIDDEN: Final = "[hidden]"
_TALKATIVE: Final = ("alembic", "httpx2")
"""Libraries that log each of their steps at level info; the service logs the outcome itself."""


TAKEN_UP: Final = ("pipelines", "warehouse")
"""Loggers whose lines Dagster adds to the events of a run that is executed (dagster.yaml: `managed_python_loggers`)."""


class _Logger(structlog.stdlib.BoundLogger):
    """A logger whose lines stop no work while Dagster's storage, which takes them up in a run, lacks something."""

    def _proxy_to_logger(self, *args: Any, **kwargs: Any) -> None:
        try:
            super()._proxy_to_logger(*args, **kwargs)
        except Exception as error:
            if not is_passing(error):
                raise


def configure(settings: Settings) -> None:
    """Send every log line of this process, also of libraries, to standard error. Calling it again changes the level."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        _STAMPED,
        structlog.processors.format_exc_info,
        hide_secrets,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=_Logger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(sort_keys=False, ensure_ascii=False),
            ],
        )
    )
    handler.setLevel(settings.log_level.upper())  # Dagster sets the level of the loggers that it takes up
    handler.addFilter(_is_new)
    # Dagster writes its own text over a line that it takes up, so that ours is written before (dagster.yaml).
    for name in (*TAKEN_UP, ""):
        logging.getLogger(name).handlers[:] = [handler]
    logging.getLogger().setLevel(settings.log_level.upper())
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.DEBUG if settings.log_level == "debug" else logging.WARNING)


_STAMPED: Final = structlog.processors.TimeStamper(fmt="iso", utc=True)


def _as_json(entry: EventDict) -> str:
    """Return a line as the renderer of `configure` writes it, in a fifth of its time."""
    import msgspec  # noqa: PLC0415  (programs that answer no requests write no such line)

    return msgspec.json.format(msgspec.json.encode(entry), indent=0).decode()


def write_line(logger: logging.Logger, level: int, event: str, fields: Mapping[str, str | float | None]) -> None:
    """Write a line of plain values as `configure` would have it, past the chain of structlog and logging.

    For the line that every request has: on that road it takes a twentieth of a short request. The logger says only
    whether the level is heard. No field's name is a secret's, and a text is looked through only where the whole line
    has a sign of a secret. A standard error that is gone stops no work.
    """
    if not logger.isEnabledFor(level):
        return
    entry: EventDict = {
        **fields,
        "event": event,
        **structlog.contextvars.get_contextvars(),
        "level": logging.getLevelName(level).lower(),
        "logger": logger.name,
    }
    line = _as_json(_STAMPED(None, "", entry))
    if _may_hold_secret(line):
        line = _as_json(hide_secrets(None, "", entry))
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{line}\n")


def _may_hold_secret(text: str) -> bool:
    folded = text.casefold()  # as the expression, which takes the long s of Unicode for an s
    for sign in _SIGNS:  # noqa: SIM110  (a frame less for every line)
        if sign in folded:
            return True
    return False


def _is_new(record: logging.LogRecord) -> bool:
    """Return whether the line was not written yet: it comes again from its parents, and from a run's own logger."""
    said = hasattr(record, "said")
    record.said = True
    return not said


def name_misspelt() -> None:
    """Log which variables are no setting, at a program's start: what they were meant to set is not set."""
    for name, nearest in misspelt().items():
        structlog.get_logger(__name__).warning("setting.unknown", variable=name, nearest=nearest)


def hide_secrets(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Hide values whose names are a secret's, at any depth, and in texts keys, bearer tokens and passwords of URLs."""
    return {name: _clean(name, value) for name, value in event.items()}


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def _clean(name: str, value: object) -> object:
    if _is_secret(name) and value is not None:
        return _HIDDEN
    if isinstance(value, str):
        if not _may_hold_secret(value):
            return value
        return _SECRET_VALUE.sub(lambda match: f"{match[1] or match[2] or match[3]}{_HIDDEN}", value)
    if isinstance(value, Mapping):
        return {key: _clean(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean("", inner) for inner in value]
    return value
