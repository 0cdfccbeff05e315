"""Operates Dagster's pages as the operator's staff do, in a real browser; the journeys and the pictures share it.

Dagster's pages have no contract: elements are found here by the words and roles that a person uses.
"""

from playwright.sync_api import Locator, Page


def sign_in(page: Page, service: str, email: str, password: str, back: str = "/dagster") -> None:
    """Sign in through the staff's form, as a person does."""
    page.goto(f"{service}/staff/sign-in?next={back}")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def materialised(page: Page, service: str, asset: str, *partitions: str) -> str:
    """Materialise one partition of an asset, a value for each dimension; open and return its run's page address."""
    dialog = opened(page, service, asset)
    for value in partitions:
        dialog.get_by_text("Select a partition or create one").first.click()
        # The list of the dimension before may still be closing.
        page.get_by_placeholder("Filter partitions").last.fill(value)
        page.get_by_role("menuitem").filter(has_text=value).last.click()
        page.keyboard.press("Escape")
    dialog.get_by_role("button", name="Launch 1 run").click()
    page.get_by_text("Launched run").wait_for()
    view = page.get_by_role("button", name="View", exact=True).or_(page.get_by_role("link", name="View", exact=True))
    view.last.click()
    page.wait_for_url("**/runs/*-*")
    return page.url


def opened(page: Page, service: str, asset: str) -> Locator:
    """Open the dialog that asks which partitions of an asset to materialise."""
    page.goto(f"{service}/dagster/assets/{asset}?view=partitions")
    page.get_by_role("button", name="Materialize").first.click()
    return page.get_by_role("dialog")


def bar(page: Page, job: str) -> Locator:
    """Return the newest runs of a job on the timeline."""
    row = page.locator(f"xpath=//a[contains(@href, '/jobs/{job}')]/ancestor::div[contains(@class, 'timelineRow')]")
    return row.locator("[aria-haspopup=menu]").last


def row(page: Page, *said: str) -> Locator:
    """Return the lines of the Runs page that contain all these texts: a run's, or a backfill's."""
    link = "//a[starts-with(@href, '/dagster/runs/')][not(.='View')]"
    rows = page.locator(f"xpath={link}/ancestor::div[.//*[text()='View']][1]")
    for text in said:
        rows = rows.filter(has_text=text)
    return rows


def node(page: Page, asset: str) -> Locator:
    """Return an asset in the lineage that is shown."""
    return page.locator("svg").get_by_text(asset, exact=True).first


def follow(page: Page, asset: str) -> None:
    """Open an asset in the lineage that is shown, by a click."""
    node(page, asset).wait_for()
    page.get_by_role("img", name="zoom_out").last.click()
    node(page, asset).click()
    page.wait_for_url(f"**/assets/{asset}?**")
