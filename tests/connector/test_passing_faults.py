"""A tool says of what the machine lacks for a moment when to call again, and of a fault of ours nothing."""

import pytest
from psycopg.errors import DiskFull

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("tool", ["list_packaging_items", "list_changes"])
async def test_a_tool_that_the_machine_has_no_place_for_says_when_to_call_again(assistant, monkeypatch, tool):
    def full(*_args, **_kwargs):
        raise DiskFull("could not extend file")

    def broken(*_args, **_kwargs):
        raise KeyError("secret")

    said = {}
    for fault in (full, broken):
        for way in ("AsyncPool.run", "Pool.company", "Pool.system"):
            monkeypatch.setattr(f"warehouse.operate.sessions.{way}", fault)
        answer = await assistant.call(tool)
        assert answer.refused
        said[fault.__name__] = answer.text
    assert "internal_error" in said["full"]
    assert "in 5 seconds" in said["full"]
    assert said["broken"].endswith(tool), "nothing of a fault of ours"
