"""The published OpenAPI document: how operations declare themselves, and how the document is completed and served."""
