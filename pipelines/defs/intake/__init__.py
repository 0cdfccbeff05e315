"""From the uploaded file to typed rows."""
