"""API keys, bearer tokens, request windows and the counts behind limits."""
