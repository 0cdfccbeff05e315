"""Measures the connector's tools beside the same queries over REST and DuckDB, and the rate of correct judgements.

A tool call costs the protocol (measured by a tool that answers from a table in memory) and its query; both floors are
measured in the same run, over the same connection.
"""

import csv
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from datetime import date
from hashlib import sha256
from pathlib import Path
from statistics import median
from uuid import UUID, uuid4

import psycopg

from bench import data
from bench.imports import run_import
from bench.report import Line, against
from bench.service import Service, load, raw_request
from compliance import statements
from warehouse import analytics
from warehouse.accounts import connections, oauth_clients, users
from warehouse.analytics import Now
from warehouse.clock import Clock
from warehouse.sessions import Pool
from warehouse.snapshots import current

READS, ROUNDS = 40, 5
AT_ONCE = 50
BOUND = 1.5
"""How much more a tool call may cost than its query over REST or DuckDB and the protocol's floor together."""
_TODAY = date(2026, 11, 21)
_TABLES = ("statements.csv", "statements_unseen.csv")
_HASH = "no password is asked for"
_REDIRECT = "https://bench.example/"


def measure(service: Service, rows: int) -> Iterator[Line]:
    """Measure the tools of a company of this many SKUs; each query and its floors take turns."""
    yield from judged()
    company, key = service.company()
    run_import(service, key, data.csv_file(rows, changed=False))
    service.command("snapshot", "--company", str(company))
    token = _token(service, company)
    floor = _call(service, token, "get_product_facts", {"limit": 1})
    listed = _call(service, token, "list_packaging_items", {"limit": 50})
    over_rest = raw_request("GET", "/api/v1/skus?limit=50", key)
    overview = _call(service, token, "compliance_overview", {})
    found: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, request in (("floor", floor), ("listed", listed), ("rest", over_rest), ("overview", overview)):
            found.setdefault(name, []).append(load(service.port, [request] * READS, connections=1).p50_ms)
    p50 = {name: median(taken) for name, taken in found.items()}
    yield Line("the protocol's floor: a tool that answers from memory, p50", f"{p50['floor']:.1f} ms")
    yield against(
        f"list_packaging_items of {rows} SKUs beside GET /skus and the floor, p50",
        p50["listed"],
        p50["rest"] + p50["floor"],
        bound=BOUND,
        unit="ms",
    )
    yield against(
        f"compliance_overview of {rows} SKUs beside its queries and the floor, p50",
        p50["overview"],
        _overview_ms(service, company) + p50["floor"],
        bound=BOUND,
        unit="ms",
    )
    met = load(service.port, [listed] * AT_ONCE * 4, connections=AT_ONCE)
    yield Line(f"list_packaging_items over {AT_ONCE} connections at once, all answered", f"{met.per_second:.0f}/s")


def judged() -> Iterator[Line]:
    """Yield the share of the tests' statements that are judged correctly, and the time of one."""
    corpora = {"regulation": statements.regulation(), "service": statements.service()}
    for name in _TABLES:
        file = Path(__file__).parents[1] / "tests" / "compliance" / name
        rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
        begun = time.perf_counter()
        verdicts = [
            statements.check(row["statement"], _lang(row["lang"]), corpora[row["corpus"]], _TODAY).verdict
            for row in rows
        ]
        each = (time.perf_counter() - begun) / len(rows) * 1000
        pairs = [(row["verdict"], verdict) for row, verdict in zip(rows, verdicts, strict=True)]
        right = sum(said == verdict for said, verdict in pairs)
        guessed = sum(verdict == "supported" != said for said, verdict in pairs)
        score = (right - 10 * guessed) / len(rows)
        yield Line(
            f"{name}: {right} of {len(rows)} right, {guessed} wrongly supported, score {score:.2f}; one takes",
            f"{each:.1f} ms",
        )


def _lang(lang: str) -> statements.Lang:
    return next(known for known in statements.LANGS if known == lang)


def _overview_ms(service: Service, company: UUID) -> float:
    """Time the same overview in this process, with its snapshot read anew each time."""
    taken = []
    with Pool(service.database.app_url) as pool:
        for _ in range(READS):
            begun = time.perf_counter()
            snapshot = current(service.data_dir, company)
            assert snapshot is not None, "it was published before"
            with pool.company(company) as conn:
                now = Now.read(conn, Clock())
            analytics.overview(snapshot, now)
            taken.append((time.perf_counter() - begun) * 1000)
    return median(taken)


def _call(service: Service, token: str, tool: str, arguments: dict[str, object]) -> bytes:
    """Return the bytes of one tool call of the stateless revision."""
    meta = {
        f"io.modelcontextprotocol/{name}": value
        for name, value in (
            ("protocolVersion", "2026-07-28"),
            ("clientInfo", {"name": "bench", "version": "1"}),
            ("clientCapabilities", {}),
        )
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "Host": f"127.0.0.1:{service.port}",
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
        "Content-Length": str(len(body)),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"POST /api/mcp HTTP/1.1\r\n{lines}\r\n"
    return head.encode() + body


def _token(service: Service, company: UUID) -> str:
    """Return a connection's access token, on a plan whose ceiling admits the load."""
    now, person, client = Clock().now(), uuid4(), f"bench-{uuid4()}"
    resource, verifier = f"{service.url}/api/mcp", "v" * 64
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
    with psycopg.connect(service.database.owner_url) as owner:
        owner.execute("UPDATE plans SET connector_calls_per_minute = 1000000")
    with Pool(service.database.app_url) as pool:
        with pool.system() as conn:
            oauth_clients.hold(conn, oauth_clients.Client(client, "bench", [_REDIRECT], "none", None, now))
        with pool.company(company) as conn:
            users.add(conn, company, person, email=f"{person}@bench.example", password_hash=_HASH, at=now)
            made = connections.authorise(
                conn, company, person, new_id=uuid4(), client_id=client, scopes=["read", "write"], at=now
            )
            code = connections.hold_code(
                conn,
                company,
                made,
                redirect_uri=_REDIRECT,
                code_challenge=challenge,
                resource=resource,
                scopes=["read", "write"],
                at=now,
            )
        with pool.system() as conn:
            tokens = connections.redeem(
                conn, code, client_id=client, redirect_uri=_REDIRECT, challenge=challenge, resource=resource, at=now
            )
    assert tokens is not None, "the code was just given"
    return tokens.access
