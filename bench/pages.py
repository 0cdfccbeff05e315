"""Measures the CPU of each page of a large company for a signed-in person, beside the most that it may take.

It counts the API's processes and Postgres together, by the median of rounds of requests that come one after the other.
Where there is a Chromium, it says how many screens each page is long.
"""

from collections.abc import Iterator
from contextlib import suppress
from statistics import median
from typing import Final
from uuid import UUID

import httpx2
import psutil
import psycopg

from bench import portfolio
from bench.report import Line
from bench.service import Service, server_of, session_of
from tools.browser import chromium

READS, ROUNDS = 5, 5
"""Requests of a round, whose mean counts: the system counts CPU in steps of 10 ms. One round before them does not."""
PAGE_MS: Final = 300.0
LIST_MS: Final = 100.0
"""CPU milliseconds that a page, and a page of a list, may take by the median."""
SCREEN: Final = (1440, 900)
MOST_SCREENS: Final = 6
"""A desk's window, and how many of its heights a page may be long."""
PAGES: Final = (
    "/portfolio",
    "/portfolio/records",
    "/figures",
    "/figures/items?market=FR&year=2026&half=0&category=verre",
    "/obligations",
    "/recycled-content",
    "/declarations",
    "/declarations/due",
    "/markets/FR",
    "/items/{item}",
    "/items/{item}/edit",
    "/items/{item}/documents",
    "/items/new",
    "/account",
    "/account/second-factor",
    "/password",
    "/company",
    "/roles",
    "/items/{item}/roles",
    "/registers",
    "/marks",
    "/marks?state=not_recorded&offset=1000",
    "/marks/{item}",
    "/evidence",
    "/evidence?article=5&state=missing&offset=1000",
    "/people",
    "/keys",
    "/connections",
    "/statements",
)
LISTS: Final = (
    "/items",
    "/items?q=bottle+12",
    "/items?gap=doc_missing",
    "/items?market=FR&grade=not_recyclable",
    "/items?offset={deep}",
    "/items/archived",
    "/items/change?all=1",
    "/imports",
    "/review",
    "/review/answers",
    "/documents",
    "/suppliers",
    "/suppliers/worth",
    "/library",
    "/library?kind=brand",
    "/library?kind=site",
    "/supplier-requests",
    "/enquiries",
    "/words",
    "/webhooks",
    "/audit",
)


def measure(service: Service, rows: int = 50_000) -> Iterator[Line]:
    """Load a portfolio, count it and its tonnes, and look at each page."""
    company, _ = service.company()
    portfolio.load(service.database.owner_url, company, rows)
    with psycopg.connect(service.database.owner_url, autocommit=True) as owner:
        owner.execute("VACUUM (ANALYZE) skus")
    for command in ("snapshot", "rollup"):
        service.command(command, "--company", str(company))
    cookies = {"pcds_session": session_of(service, company)}
    service.wait_until_published()  # whose work in Postgres would be the first page's
    gaps = {"item": _an_item(service, company), "deep": str(rows // 2 // 50 * 50)}
    with httpx2.Client(base_url=service.url, cookies=cookies, timeout=60) as client:
        for paths, most, kind in ((PAGES, PAGE_MS, "page"), (LISTS, LIST_MS, "list")):
            for path in paths:
                spent = _median_ms(service, client, path.format(**gaps))
                work = f"{kind} {path} of a company of {rows} SKUs: CPU beside what it may take"
                yield Line(work, f"{spent:.0f} ms", f"{most:.0f} ms", spent / most, 1.0)
    yield from _heights(service, cookies, [path.format(**gaps) for path in (*PAGES, *LISTS)], rows)


def _heights(service: Service, cookies: dict[str, str], paths: list[str], rows: int) -> Iterator[Line]:
    """Yield how many screens each page is long at a desk, where there is a Chromium."""
    if (program := chromium.found()) is None:
        return
    width, height = SCREEN
    with chromium.opened(program) as browser:
        window = browser.new_context(viewport={"width": width, "height": height})
        window.add_cookies([{"name": name, "value": value, "url": service.url} for name, value in cookies.items()])
        page = window.new_page()
        for path in paths:
            page.goto(service.url + path)
            screens = page.evaluate("document.scrollingElement.scrollHeight") / height
            work = f"{path} of a company of {rows} SKUs: screens of {width} x {height}"
            yield Line(work, f"{screens:.1f}", f"{MOST_SCREENS}", screens / MOST_SCREENS, 1.0)


def _an_item(service: Service, company: UUID) -> str:
    with psycopg.connect(service.database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(company)])
        found = owner.execute("SELECT id FROM skus WHERE company_id = %s LIMIT 1", [company]).fetchone()
    assert found is not None
    return str(found[0])


def _median_ms(service: Service, client: httpx2.Client, path: str) -> float:
    """Return the median CPU milliseconds of a page, which must be answered with 200."""
    below = [service.process, *service.process.children(recursive=True)]
    api = [process for process in below if "api.operate.server" in " ".join(process.cmdline())]
    postgres = server_of(service.database)
    taken: list[float] = []
    for _ in range(1 + ROUNDS):
        begun = _cpu_seconds([*api, postgres, *postgres.children()])
        for _ in range(READS):
            answer = client.get(path)
            assert answer.status_code == 200, (path, answer.status_code)
        taken.append(1_000 * (_cpu_seconds([*api, postgres, *postgres.children()]) - begun) / READS)
    return median(taken[1:])


def _cpu_seconds(processes: list[psutil.Process]) -> float:
    """Return the CPU of these processes up to now."""
    used = 0.0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            used += times.user + times.system
    return used
