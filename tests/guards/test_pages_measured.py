"""Each page that names no record is in the benchmark of pages, so that a new list cannot be forgotten there."""

from fastapi.routing import APIRoute

from api.pages.routes import router
from bench.pages import LISTS, PAGES

NO_PAGE = {
    "/",
    "/sign-in",
    "/password/forgotten",
    "/oauth/authorize",
    "/pages/style.css",
    "/pages/live.js",
    "/imports/template.xlsx",
    "/items/export",
    "/portfolio/board.pdf",
    "/registers/file.csv",
    "/marks/file.csv",
    "/evidence.csv",
    "/recycled-content/file.csv",
}
"""What is redirected for a signed-in person, needs an application, or is a file."""


def test_every_page_that_names_no_record_is_measured():
    measured = {path.partition("?")[0] for path in (*PAGES, *LISTS)}
    routes = [route for route in router.routes if isinstance(route, APIRoute) and "GET" in route.methods]
    shown = {route.path for route in routes if "{" not in route.path}
    assert shown - measured == NO_PAGE
