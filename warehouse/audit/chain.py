"""What the audit chain is computed over: the digests of row versions and entries, and the hash of a link, as SQL.

A ledger transaction, which is one request's or one chunk's, is a link. Its hash is over the hash before it, its own
fields and the digests of its entries; the digest of an entry about a SKU is also over the row version that it names.
Address and user agent lie outside, so that anonymising them breaks nothing (decisions §3).

What belongs here: the expressions that writing, verifying and the migration share. Each link names the version of
these expressions that it was made with. They are final: a column that is added to a table goes into a new version, and
what was written before stays true. What does not belong here: the statements (`pipelines.writing`).

Values go into a digest as `record_send` writes them, each with its type and length, so that neither two records that
differ have one form nor do the session's time zone or date style matter. Text is in the client's encoding, which
`warehouse.sessions` holds to UTF-8. Row versions take SHA-512, which is the faster one over hundreds of bytes on a
server that has no instruction for either.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Digest:
    """One version of the expressions: the columns of a row version, the fields of an entry and a link with types."""

    version: int
    row: tuple[str, ...]
    entry: Mapping[str, str]
    link: Mapping[str, str]

    def of_row(self, table: str) -> str:
        """The digest of a row of `skus` or `sku_versions`, which are alike."""
        return f"sha512(record_send(ROW({', '.join(f'{table}.{name}' for name in self.row)})))"

    def of_entry(self, entry: Mapping[str, str], row: str = "NULL") -> str:
        """The digest of an entry: an expression for each field that it has, and the digest of its row version."""
        fields = ", ".join(f"({entry.get(name, 'NULL')})::{kind}" for name, kind in self.entry.items())
        return f"sha256(record_send(ROW({fields}, ({row})::bytea)))"

    def of_link(self, previous: str, link: Mapping[str, str], entries: str) -> str:
        """The hash of a link over the one before it, which is null before the first."""
        return f"sha256(coalesce({previous}, ''::bytea) || {self.content(link, entries)})"

    def content(self, link: Mapping[str, str], entries: str) -> str:
        """What a link adds to the hash before it: its fields, and its entries' digests one after the other."""
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
"""Every version that a link may have been made with; final, each of them."""

CURRENT: Final = VERSIONS[1]
"""The one that new links are made with. A test holds its columns equal to the tables'."""
