"""Derives the URLs of the database for its three roles: owner, application, Dagster.

What belongs here: the URLs, for the embedded server and for `DATABASE_URL` alike. What does not: connections
(`warehouse.operate.sessions`), making the roles (`warehouse.operate.migrate`), starting the server
(`warehouse.operate.embedded`).
"""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from psycopg.conninfo import conninfo_to_dict
from pydantic import SecretStr

from warehouse.operate.settings import Settings, SettingsError

OWNER: Final = "pcds_owner"
"""The role that owns every table of the embedded server; with `DATABASE_URL`, that URL names the owner."""
APP: Final = "pcds_app"
"""The application's role: it owns nothing and is bound by row-level security. API, workers and assets use it."""
DAGSTER: Final = "pcds_dagster"
"""The role that owns only the schema `dagster`, where Dagster stores its runs and events."""
_MARK_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class Database:
    """The URLs of one database for its three roles. The URLs hold passwords: never log them."""

    owner_url: str = field(repr=False)
    """For migrations and for an operator's commands."""
    app_url: str = field(repr=False)
    """For everything that serves companies."""
    dagster_url: str = field(repr=False)
    """For Dagster's storage, in the form that SQLAlchemy reads with psycopg2, which Dagster uses."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return the database of these settings.

        Raises `SettingsError` where a role's password cannot be derived, or where the owner is one of the other roles.
        """
        if settings.database_url is None:
            owner, mark = Address.read(settings.data_dir).url(), ""
        else:
            owner = settings.database_url.get_secret_value()
            mark = _mark(owner)
        app = _secret_text(settings.app_database_url) or _derived(owner, APP + mark)
        dagster = _secret_text(settings.dagster_database_url) or _derived(owner, DAGSTER + mark)
        if _role(owner) in {_role(app), _role(dagster)} - {""}:  # it would change its own password and owns no table
            raise SettingsError(
                f"DATABASE_URL names {_role(owner)}, a role that owns no tables; name the role that owns the database."
            )
        return cls(owner, app, urlunsplit(urlsplit(dagster)._replace(scheme="postgresql+psycopg2")))

    def with_name(self, name: str) -> Self:
        """Return the same server and roles with another database on it."""
        urls = (
            urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
            for url in (self.owner_url, self.app_url, self.dagster_url)
        )
        return type(self)(*urls)


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a data directory's embedded server, and the secret from which its passwords are derived."""

    host: str
    """A loopback address, or the directory of the Unix socket."""
    port: int
    secret: str = field(repr=False)

    @staticmethod
    def file(data_dir: Path) -> Path:
        """Return the path of the file that stores the address; only the service's own account can read it."""
        return data_dir / "postgres.json"

    @classmethod
    def read(cls, data_dir: Path) -> Self:
        """Read the address that the server was last started with. Raises `SettingsError` where it was never started."""
        try:
            return cls(**json.loads(cls.file(data_dir).read_text(encoding="utf-8")))
        except FileNotFoundError:
            sentence = f"There is no database in {data_dir} yet; start the service on it, or name another --data-dir."
            raise SettingsError(sentence) from None

    def url(self) -> str:
        """Return the owner's URL."""
        return f"postgresql://{OWNER}:{self.secret}@/postgres?host={quote(self.host, safe='')}&port={self.port}"


def _role(url: str) -> str:
    return unquote(urlsplit(url).username or "")


def _secret_text(url: SecretStr | None) -> str | None:
    return None if url is None else url.get_secret_value()


def _mark(owner: str) -> str:
    """Return the suffix of a database's role names: a server has one set of roles and may hold several deployments."""
    parameters = conninfo_to_dict(owner)
    name = str(parameters.get("dbname") or parameters.get("user"))
    return f"_{hashlib.sha256(name.encode()).hexdigest()[:_MARK_DIGITS]}"


def follows(url: str, owner: str) -> bool:
    """Return whether the URL's password is derived from the owner's, so that the service may set it."""
    password, wanted = urlsplit(url).password or "", _password(owner, _role(url))
    return bool(urlsplit(owner).password) and hmac.compare_digest(password.encode(), wanted.encode())


def _password(owner: str, role: str) -> str:
    return hmac.new(unquote(urlsplit(owner).password or "").encode(), role.encode(), hashlib.sha256).hexdigest()


def _derived(owner: str, role: str) -> str:
    """Return the role's URL.

    Its password is derived from the owner's: every machine with `DATABASE_URL` can do that.
    """
    parts = urlsplit(owner)
    if not parts.password:
        raise SettingsError(
            "DATABASE_URL holds no password to derive the roles' passwords from: put one in it, or set "
            "PCDS_APP_DATABASE_URL and PCDS_DAGSTER_DATABASE_URL."
        )
    return urlunsplit(parts._replace(netloc=f"{role}:{_password(owner, role)}@{parts.netloc.rpartition('@')[2]}"))
