"""Texts of the OpenAPI document about the whole interface: description, tags, contact, licence.

These are sentences and figures for readers; the code that enforces a limit defines it.
"""

from typing import Final

DESCRIPTION: Final = (
    "Packaging data for machine integration: SKUs, their component graphs, the recyclability grade that the service "
    "computes for each, and imports of whole files. A credential reads and writes the data of its own company only. "
    "v1 is additive: ignore fields that you do not know. Every grade is indicative: no legal grade exists before the "
    "delegated acts of Regulation (EU) 2025/40. What each error code asks you to do stands at /reference/errors."
)
CONTACT: Final = {"name": "The operator who issued your key"}
LICENCE: Final = {"name": "Proprietary", "identifier": "LicenseRef-Proprietary"}

_TAGS: Final = {
    "Access": "Bearer tokens from a key, for clients that would rather not send the key with each request.",
    "SKUs": "Packaging items with their component graph, volumes and grade.",
    "Technical files": "Evidence beside a SKU: what is held and its fingerprint, never the bytes.",
    "Imports": "Whole files of SKUs: CSV and XLSX, accepted at once, written afterwards, reported line by line.",
    "Exports": "The whole portfolio as a file: asked for, polled, downloaded.",
    "Library": "What SKUs refer to: shared components, sites and brands.",
    "Changes": "What changed, in the order in which it was stored: fetched from a cursor on, or sent by webhooks.",
    "Suppliers": "What a supplier answers to a company's request, by the link that it was sent.",
    "Declarations": "Declarations of Conformity: their metadata.",
    "Figures": "Tonnes placed on each market, what could not be counted, and the duties that follow.",
    "Kept declarations": "Declarations of tonnes made of the figures, kept as they were filed, corrected by new ones.",
    "Jurisdictions": "Where extended producer responsibility applies, how it is run and when that was verified.",
    "Audit": "Who changed what, with the values before and after.",
    "Service": "What the service says of itself.",
}


def tags() -> list[dict[str, object]]:
    """Return the tags in the order of the reference."""
    return [{"name": name, "description": sentence} for name, sentence in _TAGS.items()]
