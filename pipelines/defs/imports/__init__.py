"""Defines the assets of an import: from the uploaded file to typed rows, graded SKUs and the caller's report."""
