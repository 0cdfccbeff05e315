"""A day of the operator's staff in Dagster, behind the service's door and in a real browser.

One service of its own with the daemon, the workers and two companies; one of them sends what nobody should.
"""

import json
import re
from collections.abc import Iterator

import httpx2
import psutil
import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.people import PASSWORD
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.browser import dagster
from tools.browser.company import PORTFOLIO, Company
from tools.browser.pages import sign_in
from tools.service import Service, running
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

pytestmark = pytest.mark.browser

OPERATOR, ANALYST, PERSON = "olga@operator.example", "ana@operator.example", "ada@brand.example"
BUTTONS = (
    ("assets/figures?view=partitions", "Materialize"),
    ("asset-groups", "Materialize all"),
    ("deployment", "Reload all"),
    ("locations/pcds/jobs/import_file", "Materialize all"),
)
"""What acts on Dagster's pages: for operators it does, for analysts it is grey by Dagster's own means."""
HOSTILE = '<img src=x onerror="alert(1)">'
HOSTILE_FILE = "**bold** ![x](http://elsewhere.example/a.png) <img src=x>.csv"
DAYS_BACK = 2 * 86_400


@pytest.fixture(scope="module")
def service(browser: Browser) -> Iterator[Service]:
    with running("--dagster-ui") as service:
        for email, role in ((OPERATOR, "operator"), (ANALYST, "analyst")):
            service.made("staff", "add", "--email", email, "--role", role, "--password-stdin", said=PASSWORD)
        service.made(
            "user", "add", "--company", service.company_id, "--email", PERSON, "--password-stdin", said=PASSWORD
        )
        yield service


@pytest.fixture(scope="module")
def company(service: Service) -> Company:
    return Company(service.address, service.company_id, service.key, service.made)


@pytest.fixture(scope="module")
def sent(service: Service, company: Company) -> str:
    """The id of an import that has ended, and whose figures are published."""
    import_id = company.imported(PORTFOLIO)
    wait_until(lambda: list(service.data_dir.glob(f"figures/{company.id}/**/*.parquet")))
    return import_id


@pytest.fixture(scope="module")
def other(service: Service) -> Company:
    """A company whose cells and file name mean harm."""
    made = service.made("company", "add", "--name", "Brook & Söhne", "--plan", "enterprise")
    key = service.made("key", "issue", "--company", made["id"], "--name", "erp")
    other = Company(service.address, made["id"], key["api_key"], service.made)
    cell = f'"{HOSTILE.replace(chr(34), chr(34) * 2)}"'
    lines = f"sku_code,name,weight_grams,material,markets,units\nA,{cell},12,PET,DE,5\n{cell},B,heavy,PET,DE,5\n"
    answer = httpx2.post(
        f"{service.address}/api/v1/imports",
        headers={"X-API-Key": other.key},
        params={"filename": HOSTILE_FILE},
        content=lines.encode(),
        timeout=PATIENCE_SECONDS,
    )
    assert answer.status_code == 202, answer.text
    wait_until(lambda: list(service.data_dir.glob(f"figures/{other.id}/**/*.parquet")))
    return other


@pytest.fixture(scope="module")
def page(browser: Browser, service: Service, sent: str) -> Iterator[Page]:
    """The operator's window; nothing that is shown in it may open a dialog or ask another address for anything."""
    with browser.new_context(viewport={"width": 2200, "height": 1400}, locale="en-GB") as context:
        context.set_default_timeout(1_000 * PATIENCE_SECONDS)
        page, faults = context.new_page(), list[str]()
        page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: faults.append(asked.url) if "elsewhere" in asked.url else None)
        dagster.sign_in(page, service.address, OPERATOR, PASSWORD)
        page.wait_for_url("**/dagster/**")
        yield page
        assert faults == []


def test_the_timeline_shows_the_import_under_its_job(page: Page, service: Service, sent: str):
    page.goto(f"{service.address}/dagster")
    dagster.bar(page, "import_file").hover()
    page.locator(".bp5-popover").get_by_role("link").first.click()
    expect(page.get_by_role("main").or_(page.locator("body")).last).to_contain_text("import_file")
    expect(page.locator("body")).to_contain_text("Success")
    expect(page.locator("body")).to_contain_text("RUN_SUCCESS")  # the events of the run, over the web socket
    page.goto(f"{service.address}/dagster/locations/pcds/jobs/import_file/runs")
    expect(page.locator("body")).to_contain_text(f"pcds/import_id: {sent}")
    page.goto(f"{service.address}/dagster/runs")
    expect(dagster.row(page, "refresh_catalogue").first).to_be_visible()
    expect(page.locator("body")).not_to_contain_text("Manually launched")


@pytest.mark.usefixtures("sent")
def test_an_analyst_sees_grey_buttons_and_no_company_s_page(browser: Browser, service: Service, page: Page):
    with browser.new_context(viewport={"width": 2200, "height": 1400}, locale="en-GB") as context:
        context.set_default_timeout(1_000 * PATIENCE_SECONDS)
        analyst = context.new_page()
        dagster.sign_in(analyst, service.address, ANALYST, PASSWORD)
        analyst.wait_for_url("**/dagster/**")
        for path, name in BUTTONS:
            for window, is_grey in ((analyst, True), (page, False)):
                window.goto(f"{service.address}/dagster/{path}")
                button = window.get_by_role("button", name=name).first
                (expect(button).to_be_disabled if is_grey else expect(button).to_be_enabled)()
        for window, is_grey in ((analyst, True), (page, False)):
            window.goto(f"{service.address}/dagster/locations/pcds/schedules/daily_housekeeping")
            switch = window.locator("input[type=checkbox]").first
            (expect(switch).to_be_disabled if is_grey else expect(switch).to_be_enabled)()
        analyst.goto(f"{service.address}/dagster/runs")
        dagster.row(analyst, "import_file").first.wait_for()
        analyst.goto(f"{service.address}/portfolio")
        assert analyst.url.partition("?")[0] == f"{service.address}/sign-in"


def test_an_import_is_found_by_its_id(page: Page, service: Service, company: Company, sent: str):
    page.goto(f"{service.address}/staff")
    page.get_by_label("Id of an import").fill(sent)
    page.get_by_role("button", name="Show its runs").click()
    rows = dagster.row(page, "import_file")
    expect(rows).to_have_count(1)
    for said in ("Success", "partition: example", "portfolio.xlsx", f"pcds/import_id: {sent}"):
        expect(rows).to_contain_text(said)
    # who launched it: the service, or the sensor where Dagster's webserver had not started when the file came
    expect(rows).to_contain_text(re.compile("user: pcds|queued_imports"))
    expect(rows).not_to_contain_text("pcds_")  # tags that only the machinery reads
    sign_in(page, service.address, PERSON, PASSWORD, back=f"/imports/{sent}")
    page.get_by_role("link", name="Runs of this import in Dagster").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text(f"pcds/import_id: {sent}")


def test_figures_of_one_company_are_materialised_by_hand(page: Page, service: Service):
    run = dagster.materialised(page, service.address, "figures", "example")
    expect(page.locator("body")).to_contain_text("Success")
    page.goto(f"{service.address}/dagster/runs")
    row = dagster.row(page, run.rpartition("/")[2][:8])
    expect(row).to_contain_text("Success")
    expect(row).to_contain_text(f"user: {OPERATOR}")
    expect(row).to_contain_text("partition: example")
    page.goto(f"{service.address}/dagster/assets/figures?view=partitions&partition=example")
    page.get_by_text("total_tonnes", exact=True).or_(
        page.get_by_text("tonnes_by_category", exact=True)
    ).first.wait_for()
    expect(page.locator("body")).to_contain_text("ruleset_version")


@pytest.mark.usefixtures("other")
def test_a_backfill_over_all_companies_ends(page: Page, service: Service):
    dialog = dagster.opened(page, service.address, "figures")
    dialog.get_by_role("button", name="All", exact=True).click()
    expect(dialog).to_contain_text("2 partitions")
    dialog.get_by_role("button", name="Launch backfill").click()
    expect(dialog).to_be_hidden()
    page.goto(f"{service.address}/dagster/runs?view=backfills")
    row = dagster.row(page, "figures")
    expect(row).to_contain_text("Success")
    expect(row).to_contain_text("2 partitions")
    expect(row).to_contain_text(f"user: {OPERATOR}")
    row.get_by_role("link").first.click()
    expect(page.locator("body")).to_contain_text("100% completed")
    page.goto(f"{service.address}/dagster/runs")
    page.get_by_text("Show runs within backfills").click()
    for partition in ("example", "brook-soehne"):
        within = dagster.row(page, f"partition: {partition}", "figures")
        expect(within.first).to_contain_text(f"user: {OPERATOR}")


def test_a_declaration_leads_to_the_uploaded_file(page: Page, service: Service, sent: str):
    dagster.materialised(page, service.address, "declarations", "example")
    expect(page.locator("body")).to_contain_text("Success")
    page.goto(f"{service.address}/dagster/assets/declarations?view=partitions&partition=example")
    expect(page.locator("body")).to_contain_text("scope_missing")
    page.get_by_role("tab", name="Lineage").or_(page.get_by_role("link", name="Lineage")).last.click()
    for asset in (
        "figures",
        "portfolio",
        "portfolio_snapshot",
        "graded_skus",
        "typed_rows",
        "parsed_table",
        "uploaded_file",
    ):
        dagster.follow(page, asset)
    page.goto(f"{service.address}/dagster/assets/uploaded_file?view=partitions&partition=example")
    for said in ("sha256", "object_key", "portfolio.xlsx", sent):
        expect(page.locator("body")).to_contain_text(said)


def test_a_schedule_says_when_it_ticked_last(page: Page, service: Service):
    where = f"{service.address}/dagster/locations/pcds/schedules/daily_housekeeping"
    page.goto(where)
    expect(page.locator("body")).to_contain_text("Next tick")
    _as_if_two_days_old(service)
    page.goto(where)
    expect(page.locator("body")).not_to_contain_text("has never run")
    expect(page.locator("body")).to_contain_text(re.compile("Latest tick.*1 run requested", re.DOTALL))


def test_every_daemon_runs_and_none_is_warned_of(page: Page, service: Service):
    page.goto(f"{service.address}/dagster/deployment/daemons")
    for name in ("Sensors", "Backfill", "Scheduler", "Run queue", "monitoring", "freshness daemon"):
        expect(page.locator("tr").filter(has_text=name)).to_contain_text("Running")
    expect(page.locator("body")).not_to_contain_text("Not running")
    page.goto(f"{service.address}/dagster/automation")
    expect(page.locator("body")).to_contain_text("daily_housekeeping")
    expect(page.locator("body")).not_to_contain_text("daemon")


def test_hostile_cells_and_names_show_as_text(page: Page, service: Service, other: Company):
    for asset, said in (("typed_rows", HOSTILE), ("import_report", HOSTILE), ("uploaded_file", HOSTILE_FILE)):
        page.goto(f"{service.address}/dagster/assets/{asset}?view=partitions&partition=brook-soehne")
        expect(page.locator("body")).to_contain_text(said)
        assert page.locator('img[src="x"], img[src*="elsewhere"], a[href*="elsewhere"]').count() == 0
        for button in page.get_by_text(re.compile(r"^\[?Show Markdown\]?$")).all():
            button.click()
            expect(page.get_by_role("dialog")).to_be_visible()
            assert page.locator('img[src="x"], img[src*="elsewhere"], a[href*="elsewhere"]').count() == 0
            page.keyboard.press("Escape")
    page.goto(f"{service.address}/dagster/runs?q[0]=tag:pcds/company_id={other.id}")
    expect(dagster.row(page, "import_file")).to_contain_text(HOSTILE_FILE[:20])


def _as_if_two_days_old(service: Service) -> None:
    """Have Dagster believe that its schedules were switched on two days ago, which a new daemon reads."""
    database = Database.from_settings(Settings.load(data_dir=service.data_dir))
    with psycopg.connect(database.owner_url) as owner:
        found = owner.execute("SELECT id, instigator_body FROM dagster.instigators WHERE instigator_type = 'SCHEDULE'")
        for row, body in found.fetchall():
            state = json.loads(body)
            data = state["job_specific_data"]
            data["start_timestamp"] -= DAYS_BACK
            data["last_iteration_timestamp"] = data["start_timestamp"]
            owner.execute("UPDATE dagster.instigators SET instigator_body = %s WHERE id = %s", (json.dumps(state), row))
    [daemon] = [
        each
        for each in psutil.process_iter(["cmdline", "environ"])
        if "pipelines.engine.daemon" in (each.info["cmdline"] or ())
        and (each.info["environ"] or {}).get("DAGSTER_HOME", "").startswith(str(service.data_dir))
    ]
    daemon.kill()
