"""The assistant connector at /api/mcp.

What belongs here: the MCP server, its tools and its OAuth authorisation. It is a door like `api` and uses the same
steps; it never reads or writes a record in a way of its own.
"""
