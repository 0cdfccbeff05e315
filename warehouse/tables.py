"""Collects every table of the service, as SQLAlchemy Core tables on one MetaData, defined in one file per subject.

What belongs here: columns, keys, indexes and the list of tables that a company owns. What does not: policies and grants
(the migrations), queries (beside each subject), and Dagster's own tables, which Dagster makes in its own schema.
"""

from typing import Final

from warehouse.accounts.tables import (
    authorization_codes,
    bearer_tokens,
    connection_tokens,
    connections,
    key_probes,
    oauth_clients,
    password_links,
    recovery_codes,
    request_slots,
    request_windows,
    user_sessions,
    users,
)
from warehouse.answers import kept_answers
from warehouse.assistants import confirmations
from warehouse.audit.ledger import audit_entries, audit_transactions
from warehouse.base import metadata
from warehouse.catalogue import catalogue_loads, jurisdictions
from warehouse.changes.webhooks import webhook_deliveries, webhooks
from warehouse.companies.profiles import company_profiles
from warehouse.companies.queries import api_keys, companies, company_counters, removed_companies, removed_links
from warehouse.companies.queries import plans_table as plans
from warehouse.conformity import issued_declarations, issued_translations
from warehouse.enquiries import supplier_rows
from warehouse.exports import exports
from warehouse.figures.snapshots import head_figures, snapshots
from warehouse.files import technical_files
from warehouse.filings import kept_declarations
from warehouse.imports.queries import import_errors, imports
from warehouse.imports.words import import_mappings, own_words
from warehouse.library import brands, library_components, sites, suppliers
from warehouse.marks import marks
from warehouse.operate.launches import launches
from warehouse.operate.staff import staff, staff_sessions
from warehouse.registers import registers
from warehouse.review import review_entries, review_files
from warehouse.roles import role_answers
from warehouse.rules import regrades, ruleset_activations, rulesets
from warehouse.skus.tables import archived_skus, docs, former_codes, sku_versions, skus
from warehouse.supplier_mails import supplier_mails
from warehouse.suppliers import supplier_articles, supplier_enquiries, supplier_requests

COMPANY_TABLES: Final = (
    companies,
    company_counters,
    company_profiles,
    role_answers,
    registers,
    marks,
    api_keys,
    bearer_tokens,
    request_windows,
    brands,
    sites,
    suppliers,
    library_components,
    skus,
    sku_versions,
    archived_skus,
    former_codes,
    docs,
    technical_files,
    imports,
    import_errors,
    import_mappings,
    own_words,
    exports,
    kept_answers,
    regrades,
    snapshots,
    head_figures,
    supplier_requests,
    supplier_enquiries,
    supplier_mails,
    supplier_rows,
    supplier_articles,
    review_entries,
    review_files,
    issued_declarations,
    kept_declarations,
    issued_translations,
    users,
    user_sessions,
    password_links,
    recovery_codes,
    connections,
    authorization_codes,
    connection_tokens,
    confirmations,
    webhooks,
    webhook_deliveries,
    audit_transactions,
    audit_entries,
)
"""Tables under row-level security: their `company_id` (`id` for companies itself) equals the session's company."""

APPEND_ONLY: Final = (
    audit_transactions,
    audit_entries,
    sku_versions,
    issued_declarations,
    issued_translations,
    kept_declarations,
)
"""Tables whose rows the application's role may read and add, but never change or remove."""

__all__ = [
    "APPEND_ONLY",
    "COMPANY_TABLES",
    "api_keys",
    "archived_skus",
    "audit_entries",
    "audit_transactions",
    "authorization_codes",
    "bearer_tokens",
    "brands",
    "catalogue_loads",
    "companies",
    "company_counters",
    "company_profiles",
    "confirmations",
    "connection_tokens",
    "connections",
    "docs",
    "exports",
    "former_codes",
    "head_figures",
    "import_errors",
    "import_mappings",
    "imports",
    "issued_declarations",
    "issued_translations",
    "jurisdictions",
    "kept_answers",
    "kept_declarations",
    "key_probes",
    "launches",
    "library_components",
    "marks",
    "metadata",
    "oauth_clients",
    "own_words",
    "password_links",
    "plans",
    "recovery_codes",
    "registers",
    "regrades",
    "removed_companies",
    "removed_links",
    "request_slots",
    "request_windows",
    "review_entries",
    "review_files",
    "role_answers",
    "ruleset_activations",
    "rulesets",
    "sites",
    "sku_versions",
    "skus",
    "snapshots",
    "staff",
    "staff_sessions",
    "supplier_articles",
    "supplier_enquiries",
    "supplier_mails",
    "supplier_requests",
    "supplier_rows",
    "suppliers",
    "technical_files",
    "user_sessions",
    "users",
    "webhook_deliveries",
    "webhooks",
]
