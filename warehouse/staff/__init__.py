"""Staff of the operator and their sessions."""
