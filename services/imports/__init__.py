"""Undoes imports, changes the words that they understand, and writes the workbooks that they read back."""
