"""Checks the names and arguments of a request before the protocol's library answers it in its own words.

An unknown tool, prompt or page is an error of the protocol (MCP 2026-07-28, server/tools, "Error Handling"); for
invalid arguments the tool answers in our codes and sentences, so that the model can correct them. `connector.gate`
admits callers; each tool checks what its arguments mean.
"""

from typing import Any, Final  # Any: the SDK's context has a type parameter of its server's

import orjson
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent
from pydantic import ValidationError

from schemas.models import issues_of
from schemas.texts import refused_in

_LISTS: Final = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
"""Lists of one page, which have no cursor."""


def check_requests(server: MCPServer[None]) -> ServerMiddleware[None]:
    """Return middleware that checks against the tools and prompts that the server has at the request."""

    async def check(ctx: ServerRequestContext[Any, object], call_next: CallNext) -> HandlerResult:
        params = ctx.params or {}
        if ctx.method in _LISTS and params.get("cursor") is not None:
            raise MCPError(INVALID_PARAMS, "There is no such cursor; the list is one page.")
        if ctx.method == "prompts/get" and params.get("name") not in {one.name for one in await server.list_prompts()}:
            raise MCPError(INVALID_PARAMS, "There is no such prompt; prompts/list shows those there are.")
        if ctx.method == "tools/call" and isinstance(name := params.get("name"), str):
            tool = server._tool_manager.get_tool(name)  # the library has no public access to one tool
            if tool is None:
                raise MCPError(INVALID_PARAMS, "There is no such tool; tools/list shows those there are.")
            if faults := _faults(tool, params.get("arguments") or {}):
                return _refusal(faults)
        result = await call_next(ctx)
        return _without_blanks(result) if ctx.method == "tools/call" else result

    return check


def _without_blanks(result: HandlerResult) -> HandlerResult:
    """Return a tool's answer with its text as JSON without indents, which are two fifths of what a model would read."""
    if isinstance(result, CallToolResult):
        result = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not isinstance(result, dict) or result.get("structuredContent") is None:
        return result
    text = orjson.dumps(result["structuredContent"]).decode()
    return {**result, "content": [{"type": "text", "text": text}]}


def _faults(tool: Tool, arguments: object) -> list[str]:
    """Return the faults of the arguments, one sentence each; none for arguments that the library refuses: no object."""
    if not isinstance(arguments, dict):
        return []
    if (sentence := refused_in(arguments)) is not None:
        return [sentence]
    try:
        tool.fn_metadata.validate_arguments(arguments)
    except ValidationError as error:
        return [f"{issue.field}: {issue.message}" if issue.field else issue.message for issue in issues_of(error)]
    return []


def _refusal(faults: list[str]) -> CallToolResult:
    text = f"invalid_body: {' '.join(faults)}"
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
