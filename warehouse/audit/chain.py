"""Defines what the audit chain is computed over: digests of row versions and entries, and the hash of a link, as SQL.

A ledger transaction, which is one request's or one chunk's, is a link. Its hash covers the hash before it, its own
fields and the digests of its entries; the digest of an entry about a SKU also covers the row version that it names.
Address and user agent are not covered, so that they can be anonymised (decisions §3).

What belongs here: the expressions that writing, verifying and the migration share. Each link names the version of these
expressions that it was made with. A version is final: a column that is added to a table goes into a new version, and
older links stay valid. What does not belong here: the statements (`pipelines.writing`).

Values go into a digest as `record_send` writes them, each with its type and length: two different records never have
the same form, and the session's time zone and date style have no effect. Text is in the client's encoding, which
`warehouse.sessions` sets to UTF-8. Row versions use SHA-512, which is faster over hundreds of bytes on a server without
instructions for either hash.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Digest:
    """One version of the expressions: the columns of a row version, and the typed fields of an entry and a link."""

    version: int
    row: tuple[str, ...]
    entry: Mapping[str, str]
    link: Mapping[str, str]

    def of_row(self, table: str) -> str:
        """Return the digest of a row of `skus` or `sku_versions`, which have the same columns."""
        return f"sha512(record_send(ROW({', '.join(f'{table}.{name}' for name in self.row)})))"

    def of_entry(self, entry: Mapping[str, str], row: str = "NULL") -> str:
        """Return the digest of an entry from an expression for each of its fields and its row version's digest."""
        fields = ", ".join(f"({entry.get(name, 'NULL')})::{kind}" for name, kind in self.entry.items())
        return f"sha256(record_send(ROW({fields}, ({row})::bytea)))"

    def of_link(self, previous: str, link: Mapping[str, str], entries: str) -> str:
        """Return the hash of a link over the one before it, which is null before the first."""
        return f"sha256(coalesce({previous}, ''::bytea) || {self.content(link, entries)})"

    def content(self, link: Mapping[str, str], entries: str) -> str:
        """Return what a link adds to the hash before it: its fields, and the digests of its entries in order."""
        fields = ", ".join(f"({link[name]})::{kind}" for name, kind in self.link.items())
        return f"record_send(ROW({self.version:d}, {fields}, ({entries})::bytea))"


_FIRST: Final = Digest(
    version=1,
    row=(
        "id",
        "company_id",
        "sku_code",
        "name",
        "description",
        "material",
        "material_subtype",
        "weight_grams",
        "recycled_content_percent",
        "food_contact",
        "pfas",
        "svhc",
        "bpa",
        "heavy_metals",
        "product_category",
        "markets",
        "gtin",
        "ppwr_role",
        "packaging_level",
        "packaging_format",
        "brand_id",
        "manufacturing_site_id",
        "packing_site_id",
        "empty_space_ratio",
        "reusable",
        "reuse_system_type",
        "reuse_cycles_target",
        "reuse_pool_owner",
        "reuse_deposit_system",
        "reuse_return_mechanism",
        "reuse_reconditioning",
        "reuse_asset_identifier",
        "use_contexts",
        "minimisation_assessed",
        "sorting_label_scheme",
        "material_marking_applied",
        "components",
        "volumes",
        "components_weight_g",
        "recyclability_grade",
        "recyclability_score",
        "grade_provisional",
        "ruleset_version",
        "version",
        "transaction_id",
        "import_id",
        "import_sheet",
        "import_line",
        "created_at",
        "updated_at",
    ),
    entry={"action": "text", "resource_id": "text", "version": "integer", "before": "json", "after": "json"},
    link={
        "number": "bigint",
        "first_entry": "bigint",
        "entries": "integer",
        "id": "uuid",
        "company_id": "uuid",
        "at": "timestamptz",
        "actor_type": "text",
        "actor_id": "text",
        "actor_name": "text",
        "reason": "text",
        "correlation_id": "text",
    },
)

VERSIONS: Final = {1: _FIRST}
"""Every version that a link may have been made with; each is final."""

CURRENT: Final = VERSIONS[1]
"""The version of new links. A test compares its columns with the tables'."""
