"""Lists every state of a deployment that is wrong, once: `pcds doctor`, `/readyz` and `/metrics` render this list.

A new state is one member here, one look in `services.operate` that yields it, a row in docs/operations.md, and a
case in `deploy/prometheus/alerts.test.yaml`; tests hold each of these against the list.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict
from pydantic import Field as PydanticField
from pydantic.json_schema import SkipJsonSchema

from schemas.answers import Answer, Day

Urgency = Literal["page", "ticket"]
Part = Literal["needed", "awaited", "working"]
"""What `/readyz` makes of a state: requests fail (`needed`), they wait for it at the start (`awaited`), they go on."""


class State(StrEnum):
    """What can be wrong with a place; the value is the name that operators see. Ordered as it is to be repaired."""

    urgency: Urgency
    part: Part | None
    meaning: str

    def __new__(cls, name: str, urgency: Urgency, part: Part | None, meaning: str) -> "State":
        """`urgency` is whether somebody is called at night; `part` whether `/readyz` says it, and how."""
        made = str.__new__(cls, name)
        made._value_, made.urgency, made.part, made.meaning = name, urgency, part, meaning
        return made

    DATA_DIR = ("data_dir", "page", None, "the data directory does not exist")
    STORAGE = ("storage", "page", "needed", "the data directory takes no file, or has too little free space")
    DATABASE = ("database", "page", "needed", "Postgres gives no answer")
    DATABASE_WRITES = ("database_writes", "page", "needed", "Postgres answers and does not commit")
    MIGRATION = ("migration", "ticket", None, "the tables are those of another release")
    POSTGRES = ("postgres", "ticket", None, "the version of Postgres is not supported")
    KEYS = ("keys", "page", None, "a key of the deployment is lost, another one, or half rolled")
    CATALOGUE = ("catalogue", "page", "awaited", "no catalogue is loaded")
    WORKER = ("worker", "page", "awaited", "no worker waits for imports")
    CODE_SERVER = ("code_server", "page", "working", "Dagster's code server does not answer")
    OBJECT_STORE = ("object_store", "page", "working", "the object store does not take, give back or remove a file")
    FOREIGN_STORE = ("foreign_store", "page", "working", "the object store carries another deployment's identity")
    UNRELIABLE_STORE = ("unreliable_store", "page", "working", "the object store gives back other bytes than it took")
    STORE_BY_HTTP = ("store_by_http", "ticket", None, "files go to the object store without encryption")
    IMPORTS = ("imports", "page", None, "imports wait for more than ten minutes")
    SNAPSHOTS = ("snapshots", "ticket", None, "writes of more than ten minutes ago are in no snapshot")
    SNAPSHOT_FILES = ("snapshot_files", "ticket", None, "a file of a snapshot or of figures is lost or cut off")
    SENSORS = ("sensors", "ticket", None, "a sensor or schedule of Dagster failed at its last tick")
    SECRETS = ("secrets", "ticket", None, "other accounts of this machine may read a key")
    SETTINGS = ("settings", "ticket", None, "a variable PCDS_… is no setting")
    BASE_URL = ("base_url", "ticket", None, "links lead nowhere, or people come without encryption")
    CLOCK = ("clock", "ticket", None, "a test clock is set")
    CLOCK_SKEW = ("clock_skew", "ticket", None, "this machine and Postgres do not have the same time")


class Health(Answer):
    """Whether the service answers, or is ready; `clock_offset_seconds` only where a test clock is set."""

    status: Literal["ok", "starting", "degraded"]
    failing: Annotated[
        list[
            Literal[
                "storage",
                "database",
                "database_writes",
                "catalogue",
                "worker",
                "code_server",
                "object_store",
                "foreign_store",
                "unreliable_store",
            ]
        ]
        | SkipJsonSchema[None],
        PydanticField(description="What fails or is waited for (503), or which parts are away (200, `degraded`)."),
    ] = None
    clock_offset_seconds: int | SkipJsonSchema[None] = None


class OpenApiDocument(BaseModel):
    """A document of OpenAPI 3.1; that specification says what else it may have."""

    model_config = ConfigDict(extra="allow")

    openapi: str


class JsonSchemaDocument(BaseModel):
    """A JSON Schema (2020-12) with its version; the specification of JSON Schema says what else it may have."""

    model_config = ConfigDict(extra="allow")

    dialect: Annotated[str, PydanticField(alias="$schema")]
    address: Annotated[str, PydanticField(alias="$id", json_schema_extra={"format": "uri"})]
    version: Annotated[
        str, PydanticField(description="Version of the schema; it changes whenever the schema accepts anything else.")
    ]
    date: Annotated[Day, PydanticField(description="Day on which this version was published.")]
