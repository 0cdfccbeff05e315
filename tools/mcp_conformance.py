"""Run the protocol's own conformance suite against a running connector, in every era.

The suite is pinned in `tools/mcp_clients/`. It sends no credentials, so a small proxy on loopback adds the token and
leaves everything else unchanged, Host and Origin too. A running service has no fixture tools: the tests
(`tests/connector/test_conformance.py`) run the scenarios that need them, and the two for authorization servers.
"""

import argparse
import asyncio
import contextlib
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from tools import node_packages

PACKAGES: Final = Path(__file__).parent / "mcp_clients"
SCENARIOS: Final = {
    "2026-07-28": (
        "tools-list",
        "server-sse-multiple-streams",
        "resources-list",
        "prompts-list",
        "sep-2164-resource-not-found",
        "dns-rebinding-protection",
        "caching",
        "http-header-validation",
        "input-required-result-unsupported-methods",
    ),
    "2025-11-25": (
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "tools-list",
        "server-sse-multiple-streams",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
    ),
    "2025-06-18": ("server-initialize", "ping", "tools-list"),
}
"""Scenarios that need no fixture tool, by revision."""
_RESULT: Final = re.compile(r"^([✓✗]) ([a-z0-9-]+): ", re.MULTILINE)
_HEAD_END: Final = b"\r\n\r\n"


def main() -> int:
    """Return exit status 0 where every scenario passes; 2 where the suite could not be installed."""
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
        failed = unfit(program, proxy.port)
    print("failed: " + ", ".join(failed) if failed else "every scenario passed")
    return 1 if failed else 0


def unfit(program: Path, port: int) -> list[str]:
    """Return the scenarios of `SCENARIOS` that a connector without fixture tools does not pass."""
    failed = []
    for era, names in SCENARIOS.items():
        found, _ = run(program, port, "--suite", "all", "--spec-version", era)
        failed += [f"{era} {name}" for name in names if not found.get(name)]
    return failed


def run(program: Path, port: int, *which: str) -> tuple[dict[str, bool], str]:
    """Return whether each scenario passed against the connector behind a port, and the suite's whole output.

    `which` chooses scenarios as the suite's own command does: `--requirements 2026-07-28` are those that a revision
    demands, `--suite all --spec-version 2025-06-18` are all those for one.
    """
    asked = [str(program), "server", "--url", f"http://127.0.0.1:{port}/api/mcp", *which]
    done = subprocess.run(
        [node_packages.NODE, *asked], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return results(done.stdout), done.stdout


def results(said: str) -> dict[str, bool]:
    """Return whether each scenario passed, from the summary at the end of the suite's output."""
    return {found[2]: found[1] == "✓" for found in _RESULT.finditer(said)}


def authorization(program: Path, issuer: str, client_id: str, resource: str, port: int) -> list[str]:
    """Return the command that runs the suite's scenarios for authorization servers.

    It prints the address at which a person allows the application, and waits at `port` of this machine for the answer.
    """
    return [
        str(node_packages.NODE),
        str(program),
        "authorization",
        "--url",
        issuer,
        "--client-id",
        client_id,
        "--resource",
        resource,
        "--port",
        str(port),
    ]


def installed() -> Path | None:
    """Return the suite's program; None where it is not installed and no registry answers."""
    home = node_packages.installed(PACKAGES)
    return home and home / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"


class Proxy:
    """Passes each request on to a port of this machine with a bearer token in its headers, one request a connection."""

    def __init__(self, port: int, token: str) -> None:
        self._target, self._token, self.port = port, token, 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._passing: set[asyncio.Task[None] | None] = set()  # the loop itself has only weak references
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
        passing = asyncio.current_task()
        self._passing.add(passing)
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
            await asyncio.wait([copying])
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client left, or the service refused: the suite detects that itself
        finally:
            for end in (writer, back):
                if end is not None:
                    end.close()
                    with contextlib.suppress(OSError):
                        await end.wait_closed()
            self._passing.discard(passing)


async def _ended(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel the running tasks, and let them close their connections."""
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
