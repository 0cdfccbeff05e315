"""What a request may name and bring, checked before the protocol's library answers it in words of its own.

A tool, prompt or page that is not there is an error of the protocol (MCP 2026-07-28, server/tools, "Error Handling");
arguments that a tool does not take are the tool's answer, in our codes and sentences, for the model to correct. Who may
ask at all is `connector.gate`; what a tool makes of its arguments is the tool's.
"""

from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent
from pydantic import ValidationError

from schemas.models import issues_of
from schemas.texts import refused_in

_LISTS: Final = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
"""Lists that are one page, so that there is no cursor to go on from."""


def checked(server: MCPServer[None]) -> ServerMiddleware[None]:
    """Middleware for the tools and prompts that the server has when it is asked."""

    async def check(ctx: ServerRequestContext[Any, object], call_next: CallNext) -> HandlerResult:
        params = ctx.params or {}
        if ctx.method in _LISTS and params.get("cursor") is not None:
            raise MCPError(INVALID_PARAMS, "There is no such cursor; the list is one page.")
        if ctx.method == "prompts/get" and params.get("name") not in {one.name for one in await server.list_prompts()}:
            raise MCPError(INVALID_PARAMS, "There is no such prompt; prompts/list shows those there are.")
        if ctx.method == "tools/call" and isinstance(name := params.get("name"), str):
            tool = server._tool_manager.get_tool(name)  # there is no public way to one tool
            if tool is None:
                raise MCPError(INVALID_PARAMS, "There is no such tool; tools/list shows those there are.")
            if faults := _faults(tool, params.get("arguments") or {}):
                return _refusal(faults)
        return await call_next(ctx)

    return check


def _faults(tool: Tool, arguments: object) -> list[str]:
    """What is wrong with the arguments, one sentence each; none where they are no object, which the library refuses."""
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
