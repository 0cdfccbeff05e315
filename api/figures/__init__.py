"""Tonnes, obligations and the board, over REST and on pages; commands that compute them anew."""
