"""From the uploaded file to typed rows, graded SKUs and the report that the caller reads."""
