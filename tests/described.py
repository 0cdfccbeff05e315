"""The connector's tools described once a process, as in a deployment, and not once for each app that a test starts.

What a tool takes and answers is read off its class's function and is the same for every app; only what is called
differs. To describe all 22 costs as much as twenty requests. Tools that are made anew for each app, with a question of
their own, are described anew.
"""

from collections.abc import Iterator
from types import FunctionType, MethodType

import pytest
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool

from connector import server
from connector.tools.kit import Tool as KitTool


@pytest.fixture(scope="session", autouse=True)
def tools_described_once() -> Iterator[None]:
    """Have each description of a tool kept, in the folders whose `conftest.py` names this."""
    described: dict[FunctionType, Tool] = {}
    describe = server._add

    def add(to: MCPServer[None], tool: KitTool) -> None:
        held = to._tool_manager._tools
        of_class = tool.function.__func__ if isinstance(tool.function, MethodType) else None
        if of_class in described:
            own = {"fn": server._told_of_the_machine(tool.function)}
            held[of_class.__name__] = described[of_class].model_copy(update=own)
            return
        describe(to, tool)
        if of_class is not None:
            described[of_class] = held[of_class.__name__]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(server, "_add", add)
        yield
