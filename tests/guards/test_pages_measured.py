"""Each page that names no record is in the benchmark of pages, so that a new list cannot be forgotten there."""

from api.pages.routes import router
from bench.pages import LISTS, PAGES
from tests.api.test_roles import page_routes

NO_PAGE = {"/", "/sign-in", "/oauth/authorize", "/pages/style.css", "/imports/template.xlsx", "/items/export"}
"""What is redirected for a signed-in person, needs an application, or is a file."""


def test_every_page_that_names_no_record_is_measured():
    measured = {path.partition("?")[0] for path in (*PAGES, *LISTS)}
    shown = {path for path, route in page_routes(router.routes) if "GET" in route.methods and "{" not in path}
    assert shown - measured == NO_PAGE
