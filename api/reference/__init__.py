"""The reference for people at /reference: pages rendered from the very document that machines read."""
