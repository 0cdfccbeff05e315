"""Tables of people who sign in, the applications that they connected, and the digests of their secrets.

The functions of `accounts.sql` look up and redeem sessions, codes and tokens.
"""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)

from warehouse.base import company, identity, instant, metadata

users = Table(
    "users",
    metadata,
    identity(),
    company(),
    Column("email", Text, nullable=False, comment="in small letters; of one live account in all companies"),
    Column("password_hash", Text, nullable=False, comment="Argon2id with its parameters"),
    instant("created_at"),
    instant("disabled_at", nullable=True),
    Column(
        "role",
        Text,
        CheckConstraint("role IN ('viewer', 'editor', 'approver', 'administrator')", name="role"),
        nullable=False,
        comment="what the person may do; each role may what the one before may",
    ),
    Column("signed_in_at", DateTime(timezone=True), comment="of the last sign-in"),
    Column("sign_in_failed_at", DateTime(timezone=True), comment="of a wrong password; noted at most once a minute"),
    Column(
        "totp_secret",
        LargeBinary,
        comment="of one-time codes (RFC 6238), sealed with a key of the data directory; null without a second factor",
    ),
    Column("totp_step", BigInteger, comment="the time step of the last code that was taken: none counts twice"),
    Column("due_mail_language", Text, comment="in which language the person is mailed what is due; null is not at all"),
    Index("uq_users_email", "email", unique=True, postgresql_where=text("disabled_at IS NULL")),
)

recovery_codes = Table(
    "recovery_codes",
    metadata,
    Column("code_hash", LargeBinary, primary_key=True, comment="SHA-256 of the code with its person's id"),
    company(),
    Column("user_id", Uuid, ForeignKey("users.id"), nullable=False),
    Index(None, "user_id"),
)

password_links = Table(
    "password_links",
    metadata,
    Column("token_hash", LargeBinary, primary_key=True, comment="SHA-256 of the link's token"),
    company(),
    Column(
        "user_id",
        Uuid,
        ForeignKey("users.id"),
        nullable=False,
        unique=True,
        comment="of whom one link counts at a time",
    ),
    instant("expires_at"),
)

user_sessions = Table(
    "user_sessions",
    metadata,
    Column("token_hash", LargeBinary, primary_key=True, comment="SHA-256 of the cookie's token"),
    company(),
    Column("user_id", Uuid, ForeignKey("users.id"), nullable=False),
    Column("seen_at", DateTime(timezone=True), nullable=False, comment="of its last request, to the minute"),
    instant("expires_at"),
    Column(
        "id",
        Uuid,
        nullable=False,
        server_default=text("gen_random_uuid()"),
        comment="by which a person ends it; the token is nowhere shown",
    ),
    Column("began_at", DateTime(timezone=True), nullable=False, server_default=text("now()")),
    Column("network", Text, comment="of the sign-in: the address without its last part"),
    Column("agent", Text, comment="the browser and system of the sign-in, as it named them"),
    Index(None, "expires_at"),
)

oauth_clients = Table(
    "oauth_clients",
    metadata,
    Column(
        "id", Text, primary_key=True, comment="given at registration, or the https address of its metadata document"
    ),
    Column("name", Text, nullable=False),
    Column("redirect_uris", ARRAY(Text), nullable=False),
    Column("auth_method", Text, nullable=False),
    Column("secret_hash", LargeBinary, comment="SHA-256 of the secret; null of a public client"),
    Column(
        "held_since",
        DateTime(timezone=True),
        nullable=False,
        comment="its registration, or when its document was last fetched",
    ),
)

connections = Table(
    "connections",
    metadata,
    identity(),
    company(),
    Column("user_id", Uuid, ForeignKey("users.id"), nullable=False),
    Column("client_id", Text, ForeignKey("oauth_clients.id"), nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    instant("authorised_at"),
    instant("last_used_at", nullable=True),
    instant("revoked_at", nullable=True),
    Index(
        "uq_connections_user_id_client_id",
        "user_id",
        "client_id",
        unique=True,
        postgresql_where=text("revoked_at IS NULL"),
    ),
    Index(None, "client_id"),
)

authorization_codes = Table(
    "authorization_codes",
    metadata,
    Column("code_hash", LargeBinary, primary_key=True),
    company(),
    Column("connection_id", Uuid, ForeignKey("connections.id"), nullable=False),
    Column("redirect_uri", Text, nullable=False),
    Column("code_challenge", Text, nullable=False, comment="S256 (RFC 7636)"),
    Column("resource", Text, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    instant("expires_at"),
    instant("used_at", nullable=True),
    Index(None, "expires_at"),
)

connection_tokens = Table(
    "connection_tokens",
    metadata,
    Column("token_hash", LargeBinary, primary_key=True),
    company(),
    Column("connection_id", Uuid, ForeignKey("connections.id"), nullable=False),
    Column(
        "family",
        Uuid,
        nullable=False,
        comment="what came from one code: it ends together where a used token comes again",
    ),
    Column("kind", Text, CheckConstraint("kind IN ('access', 'refresh')", name="kind"), nullable=False),
    Column("resource", Text, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    instant("expires_at"),
    Column("used_at", DateTime(timezone=True), comment="of a refresh token that was exchanged for the next"),
    Index(None, "connection_id"),
    Index(None, "expires_at"),
)


key_probes = Table(
    "key_probes",
    metadata,
    Column("name", Text, primary_key=True),
    Column("probe", LargeBinary, nullable=False),
    comment="derived from each key; tells whether a file is the same, nothing else",
)

bearer_tokens = Table(
    "bearer_tokens",
    metadata,
    Column("token_hash", LargeBinary, primary_key=True, comment="SHA-256 of the token"),
    company(),
    Column("client_id", Uuid, ForeignKey("api_keys.id"), nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    instant("expires_at"),
    Index(None, "expires_at"),
)

request_windows = Table(
    "request_windows",
    metadata,
    Column("client_id", Uuid, ForeignKey("api_keys.id"), primary_key=True),
    company(),
    Column("per_minute", Integer, nullable=False),
    instant("opens_at"),
    Column("closes_at", DateTime(timezone=True), comment="the first instant after it; null is until it is closed"),
)

request_slots = Table(
    "request_slots",
    metadata,
    Column("spender", Text, comment="key:ID, for token requests client:ID and address:IP"),
    Column("number", Integer),
    Column(
        "taken_at",
        DateTime(timezone=True),
        nullable=False,
        server_default="-infinity",
        comment="by the last of its requests",
    ),
    Column(
        "requests",
        Integer,
        nullable=False,
        server_default="0",
        comment="that hold it; above 1 only where a ceiling is above 1 000",
    ),
    PrimaryKeyConstraint("spender", "number"),
    prefixes=["UNLOGGED"],
    postgresql_with={"fillfactor": "50"},
)
