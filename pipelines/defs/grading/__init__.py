"""From typed rows to graded SKUs and the report that the caller reads."""
