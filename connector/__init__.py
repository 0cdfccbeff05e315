"""Serves the assistant connector at /api/mcp.

What belongs here: the MCP server, its tools and its OAuth authorisation. It is an entrance like `api` and uses the same
services; it never reads or writes a record in a way of its own.
"""
