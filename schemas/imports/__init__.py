"""Shapes of an import: the bodies that ask for one, and its answers."""
