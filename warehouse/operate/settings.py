"""Reads every setting of the service from the environment, typed: `PCDS_<NAME>`, and `DATABASE_URL`.

What belongs here: names, units, defaults and permitted values. What does not: the use of a setting, and facts of the
law or of plans, which are rows of tables.
"""

import os
from difflib import get_close_matches
from email.utils import parseaddr
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self  # Any: any setting by its name
from urllib.parse import urlsplit

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, IPvAnyNetwork, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

_PREFIX: Final = "PCDS_"
OTHERS: Final = frozenset(
    f"{_PREFIX}{name}"
    for name in (
        # Of the service's own processes, of programs that call it, and of an engine of Dagster's.
        *("SUPERVISOR", "DAGSTER_STORAGE_URL", "LAUNCH_URL", "CELERY_URL", "KEY", "URL"),
        # Of tests and tools.
        *("CHANGES_SECONDS", "CHROMIUM", "CONNECTOR_TOKEN", "FUZZ_KEY", "KILL_SEEDS", "NIGHT_SKUS"),
        *("PACKS", "PACKS_FROM", "REGRADE_SEED", "TESTS_ROOT", "TEST_POSTGRES", "WEBHOOK_MESSAGES"),
    )
)
"""Variables that are no settings; a test finds every one that the repository names."""
_CENTURY: Final = 3_155_760_000  # seconds; beyond it an instant exceeds the range of datetime


class SettingsError(Exception):
    """A setting in the environment is missing or wrong; `str()` is one plain sentence."""

    code = "invalid_settings"


def _whole_seconds(value: object) -> object:
    """Accept only digits with a sign: `int` itself would also take `1_000`, `1.0` and surrounding spaces."""
    if isinstance(value, str) and not value.removeprefix("-").isdecimal():
        raise ValueError("must be a whole number of seconds, such as 86400 or -3600")
    return value


def _separated(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _postgres_url(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().startswith(("postgresql://", "postgres://")):
        raise ValueError("must begin with postgresql://")
    try:
        _ = urlsplit(value.get_secret_value()).port
    except ValueError:
        raise ValueError("must be an address such as postgresql://role:password@host:5432/database") from None
    return value


def _smtp_url(value: SecretStr) -> SecretStr:
    try:
        url = urlsplit(value.get_secret_value())
        usable = url.scheme in ("smtp", "smtps") and url.hostname and url.path in ("", "/") and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("must be an address such as smtps://name:password@mail.example:465")
    return value


def _sender(value: str) -> str:
    address = parseaddr(value)[1]
    if not value.isprintable() or not all(address.rpartition("@")[::2]):
        raise ValueError("must be an address such as Packaging data <packaging@brand.example>")
    return value


def _contact(value: str) -> str:
    if not value.startswith(("mailto:", "https://", "tel:")) or not value.isprintable() or " " in value:
        raise ValueError("must be an address such as mailto:security@brand.example or https://brand.example/security")
    return value


def _collector(value: str) -> str:
    if not value.startswith(("http://", "https://")) or not value.isprintable() or " " in value:
        raise ValueError("must be an address such as http://127.0.0.1:4318/v1/traces")
    return value


SmtpUrl = Annotated[SecretStr, AfterValidator(_smtp_url)]
PostgresUrl = Annotated[SecretStr, AfterValidator(_postgres_url)]
Port = Annotated[int, Field(ge=1, le=65535)]
Seconds = Annotated[float, Field(gt=0, le=3600)]


class Settings(BaseSettings):
    """The settings, read once per process.

    API, workers, Dagster runs and commands of one data directory have the same.
    """

    model_config = SettingsConfigDict(env_prefix=_PREFIX, frozen=True, populate_by_name=True, env_ignore_empty=True)

    data_dir: Annotated[Path, AfterValidator(Path.absolute)] = Path("data")
    """The directory of all data that must survive a restart: the embedded database, objects, Dagster's home."""
    database_url: PostgresUrl | None = Field(None, validation_alias=AliasChoices("database_url", "DATABASE_URL"))
    """The owner's URL of a Postgres 15 or newer; without it the service runs its own."""
    postgres_bin: Annotated[Path, AfterValidator(Path.absolute)] | None = None
    """The folder of the embedded Postgres's programs (`postgres`, `initdb`, `pg_ctl`), of the major version that the
    release brings; without it those of the release.
    """
    app_database_url: PostgresUrl | None = None
    """The application role's URL, where the operator makes the roles; else it is derived from the owner's."""
    dagster_database_url: PostgresUrl | None = None
    """The URL of Dagster's own storage, where the operator makes the roles."""
    backup_key_file: Annotated[Path, AfterValidator(Path.absolute)] | None = None
    """The file of the key that seals backups; without it `backup.key` in the data directory, made at the first backup.
    """
    objects_url: str | None = None
    """`s3://bucket/prefix`, with credentials in the AWS variables; without it a folder of the data directory."""
    objects_by_http: bool = False
    """Whether the object store may be reached by `http://`, without encryption: for one on this machine or behind a
    network that nobody else reads. It stands in place of `AWS_ALLOW_HTTP`.
    """
    objects_seconds: Seconds = 10
    """How long the object store may take for a call, plus one second for each MiB that the call carries; then it
    counts as away.
    """

    host: str = "127.0.0.1"
    """The address on which the API listens."""
    port: Port = 8000
    """The port on which the API listens."""
    dagster_port: Port = 3000
    """The port of Dagster's web server on the loopback address; people reach it at `/dagster` of the service."""
    dagster_ui: bool = True
    """Whether `/dagster` is open to the operator's staff."""
    public_url: Annotated[str | None, Field(validation_alias=AliasChoices("base_url", "PCDS_BASE_URL"))] = None
    """The address by which people and programs reach the service, which links begin with; without it host and port."""
    trusted_proxies: Annotated[tuple[IPvAnyNetwork, ...], NoDecode, BeforeValidator(_separated)] = ()
    """Addresses or networks, separated by commas, whose forwarding headers name the client."""

    header_bytes: Annotated[int, Field(ge=1_024, le=1_048_576)] = 65_536
    """Most bytes of a request line together with its headers."""
    header_seconds: Seconds = 20
    """How long a caller may take for the request line and headers, from the connection or the first byte on."""
    body_seconds: Seconds = 30
    """How long a caller may take for a body, plus one second for each `body_bytes_per_second` received."""
    body_bytes_per_second: Annotated[int, Field(ge=1)] = 8_192
    """The lowest rate at which a body may arrive that takes longer than `body_seconds`."""
    answer_seconds: Seconds = 60
    """How long a caller may leave an answer unread: in this time it takes all of it, or at least 48 KiB."""
    keep_alive_seconds: Annotated[int, Field(ge=1, le=3600)] = 5
    """How long a connection stays open after an answer without another request."""
    connections: Annotated[int, Field(ge=1)] = 1_000
    """Most open connections of an API process."""
    connections_per_address: Annotated[int, Field(ge=1)] = 200
    """Most open connections of one address (of one /64 network for IPv6); a trusted proxy may open all."""

    connector_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_separated)] = ()
    """Origins of web pages, such as `https://assistant.example`, that may call the connector from a browser."""

    metrics_token: Annotated[SecretStr, Field(min_length=16)] | None = None
    """The token, of at least 16 characters, with which `/metrics` is read; without it only this machine may read it,
    and only where the service has no public address.
    """

    traces_endpoint: Annotated[str, AfterValidator(_collector)] | None = None
    """The collector to which traces are sent by OTLP over HTTP, such as `http://127.0.0.1:4318/v1/traces`; without it
    nothing is traced. OpenTelemetry reads the rest, such as headers, from its own `OTEL_…` variables.
    """

    security_contact: Annotated[str, AfterValidator(_contact)] | None = None
    """Whom somebody tells who has found a weakness: `mailto:…` or `https://…`, for `/.well-known/security.txt`."""
    audit_heads: Annotated[Path, AfterValidator(Path.absolute)] | None = None
    """A folder that gets the signed heads of all audit chains once a day, such as a share that the database's owner
    cannot write.
    """

    smtp_url: SmtpUrl | None = None
    """The mail server, such as `smtps://name:password@mail.example:465`; without it nothing is mailed. With `smtp://`
    the connection is encrypted by STARTTLS where the server offers it, and always before a password is sent.
    """
    mail_from: Annotated[str, AfterValidator(_sender)] = "Packaging data <no-reply@localhost>"
    """Whom mails are from, such as `Packaging data <packaging@brand.example>`."""

    webhooks_to_loopback: bool = False
    """Whether webhooks may go to loopback addresses, also by `http://`: for trials on one machine."""

    free_bytes: Annotated[int, Field(ge=0)] = 67_108_864
    """With less free space than this in the data directory, the service reports that it is not ready."""
    pool_size: Annotated[int, Field(ge=1, le=100)] = 8
    """Most connections of one pool; an API process has two pools, one for writes and one for reads."""
    readers: Annotated[int, Field(ge=2, le=64)] = 2
    """Most processes in which the API, and the worker, read files from outside; one of them is kept warm."""
    reader_cpu_seconds: Annotated[float, Field(gt=0, le=3600)] = 20.0
    """Processor time of one reading; beyond it, as beyond the next two limits, the file is refused as
    `unreadable_file`.
    """
    reader_wall_seconds: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Elapsed time of one reading, counted from the start of its turn."""
    reader_memory_mib: Annotated[int, Field(ge=128, le=65536)] = 768
    """Private memory of one reading: a file of the greatest size with 400 000 components takes 580 MiB."""
    warm_workers: bool = True
    """Whether runs are executed by `pipelines.engine.worker`; false where an engine launches them (docs/scaling.md)."""
    dagster_yaml: Annotated[Path, AfterValidator(Path.absolute)] | None = None
    """Dagster's instance in place of the shipped `dagster.yaml`, where an engine launches runs (docs/scaling.md)."""
    chunk_rows: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """SKUs of an import that one transaction writes, in place of the default, the number measured to be best."""
    runs_kept_days: Annotated[int, Field(ge=1, le=3650)] = 30
    """How long Dagster's record of an ended run is kept."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe lines that are logged."""
    test_clock_offset: Annotated[int, BeforeValidator(_whole_seconds), Field(ge=-_CENTURY, le=_CENTURY)] = 0
    """Seconds added to every clock that decides or is stored (decisions §11, Time)."""

    @classmethod
    def load(cls, **overrides: Any) -> Self:
        """Read the settings from the environment; an override of None counts as not given. Raises `SettingsError`."""
        try:
            return cls(**{name: value for name, value in overrides.items() if value is not None})
        except ValidationError as error:
            raise SettingsError(_sentence(error)) from None

    @property
    def base_url(self) -> str:
        """The address that links begin with, without a slash at its end (decisions §11, Lists and limits)."""
        return (self.public_url or f"http://{self.host}:{self.port}").rstrip("/")

    def environment(self) -> dict[str, str]:
        """Return the variables that give a child process exactly these settings."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        values["base_url"] = values.pop("public_url")
        values["trusted_proxies"] = ",".join(str(network) for network in self.trusted_proxies) or None
        values["connector_origins"] = ",".join(self.connector_origins) or None
        variables = {f"{_PREFIX}{name.upper()}": value for name, value in values.items()}
        variables["DATABASE_URL"] = variables.pop(f"{_PREFIX}DATABASE_URL")
        return {
            name: value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            for name, value in variables.items()
            if value is not None
        }


def misspelt() -> dict[str, str | None]:
    """Return the variables `PCDS_…` of the environment that are no setting, each with the nearest name that is one."""
    names = {f"{_PREFIX}{name.upper()}" for name in Settings.model_fields} - {f"{_PREFIX}DATABASE_URL"}
    names = names - {f"{_PREFIX}PUBLIC_URL"} | {f"{_PREFIX}BASE_URL"}
    names_set = sorted(name for name in os.environ if name.upper().startswith(_PREFIX))
    wrong = [name for name in names_set if name.upper() not in names | OTHERS]
    near = {name: next(iter(get_close_matches(name.upper(), names, n=1)), None) for name in wrong}
    return near | {name: "DATABASE_URL" for name in wrong if name.upper() == f"{_PREFIX}DATABASE_URL"}


def _sentence(error: ValidationError) -> str:
    """Return the first fault as a sentence. It does not repeat the value, which may be a password."""
    fault = error.errors(include_input=False, include_url=False)[0]
    name = str(fault["loc"][0]).upper().removeprefix(_PREFIX)
    variable = name if name == "DATABASE_URL" else f"{_PREFIX}{name}"
    return f"{variable} is not usable: {fault['msg'].removeprefix('Value error, ')}."
