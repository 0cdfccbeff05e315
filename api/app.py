"""Creates the FastAPI app of an API process: its routes, and the resources that it opens once.

`python -m api.operate.server` starts it with settings from the environment; tests call `create` with their own.
"""

import asyncio
import atexit
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from api import evidence as routes_evidence
from api import marks as routes_marks
from api.accounts import routes as routes_accounts
from api.accounts import sign_in
from api.audit import routes as routes_audit
from api.catalogue import routes as routes_catalogue
from api.changes import routes as routes_changes
from api.companies import routes as routes_companies
from api.conformity import routes as routes_conformity
from api.exports import routes as routes_exports
from api.figures import routes as routes_figures
from api.files import routes as routes_files
from api.filings import routes as routes_filings
from api.http import refusals
from api.http.handlers import answering, routing
from api.http.middleware import Correlation, LoggedRoute
from api.http.service import open_service
from api.imports import routes as routes_imports
from api.library import routes as routes_library
from api.openapi import document
from api.openapi import routes as routes_openapi
from api.operate import routes as routes_operate
from api.operate.launching import Launching
from api.operate.routes import Readiness
from api.pages import refusals as page_refusals
from api.pages import routes as pages
from api.reference import routes as reference
from api.registers import routes as routes_registers
from api.roles import routes as routes_roles
from api.skus import batch, listing
from api.skus import routes as routes_skus
from api.staff import access, sessions
from api.suppliers import routes as routes_suppliers
from connector import server
from connector.gate import Gate, at_gate
from connector.oauth import routes as oauth
from connector.owners import Owner, folder_of
from warehouse.operate import logs, tracing
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

_NEW_OBJECTS: Final = 10_000
"""New objects after which the garbage collector runs; the interpreter's default is 700."""

INTERFACE_VERSION = "1.8.0"


def app_of_process() -> FastAPI:
    """Return the app of a process that runs nothing else."""
    return create(alone=True)


def create(
    settings: Settings | None = None,
    database: Database | None = None,
    clock: Clock | None = None,
    *,
    alone: bool = False,
) -> FastAPI:
    """Return an app that opens its pools when it starts and closes them when it ends.

    The settings supply what is not given. With `alone` it is the only app of its process and configures the garbage
    collector.
    """
    chosen = settings or Settings.load()
    logs.configure(chosen)
    tracing.configure(chosen, "api")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        opened = database or Database.from_settings(chosen)
        app.state.dagster_database = opened.dagster_url  # /metrics counts its runs
        async with open_service(chosen, opened, clock or Clock.from_settings(chosen)) as service:
            app.state.service = service
            connector = server.build(service)
            owner = Owner(Gate(service, connector.app), folder_of(chosen.data_dir))
            app.state.gate = owner
            async with (
                connector.session_manager.run(),
                owner.reachable(Correlation(owner)),
                access.open_upstream(chosen) as app.state.dagster,
                Readiness().looking(service) as app.state.readiness,
            ):
                app.state.launching = Launching(app.state.dagster)
                if not alone:
                    yield
                    return
                service.readers.keep_warm()
                finishing = asyncio.create_task(asyncio.to_thread(_finish_start))
                yield
                await finishing

    return build_app(lifespan)


def _finish_start() -> None:
    """Freeze all objects, so that no garbage collection visits them (decision 0024); the process answers meanwhile.

    The document is built when somebody asks for it: few callers do, and it costs most of a second.
    """
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # libraries that report leaks would report all frozen objects
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])


_PUBLISHED: Final = (
    routes_accounts.router,
    routes_companies.me_router,
    routes_companies.router,
    batch.router,
    listing.router,
    routes_skus.archive_router,
    routes_skus.what_if_router,
    routes_skus.router,
    routes_roles.router,
    routes_registers.router,
    routes_marks.router,
    routes_evidence.router,
    routes_files.router,
    routes_imports.router,
    routes_exports.router,
    routes_imports.words_router,
    routes_library.router,
    routes_conformity.docs_router,
    routes_figures.router,
    routes_figures.content_router,
    routes_filings.router,
    routes_conformity.router,
    routes_suppliers.enquiries_router,
    routes_changes.router,
    routes_changes.webhooks_router,
    routes_suppliers.router,
    routes_audit.router,
    routes_catalogue.router,
    routes_openapi.router,
    routes_openapi.schemas_router,
    routes_operate.router,
    routes_suppliers.answers_router,
    reference.router,
)
"""Paths with a name come before the single SKU: the name would else be read as a SKU's id."""


def build_app(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None) -> FastAPI:
    """Return the app without its resources: enough for the OpenAPI document."""
    app = FastAPI(
        title="Packaging Compliance Data Service",
        version=INTERFACE_VERSION,
        lifespan=lifespan,
        redirect_slashes=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        servers=[{"url": "/"}],
        generate_unique_id_function=lambda route: route.name,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # ours is `warehouse.operate.tracing`
    )
    for resource in _PUBLISHED:
        _serve(app, resource)
    for beside in (
        routes_operate.metrics_router,
        routes_operate.security_contact_router,
        pages.router,
        oauth.router,
        sessions.router,
    ):
        _serve(app, beside)
    access.install(app)
    app.router.routes.append(LoggedRoute(server.PATH, endpoint=at_gate, include_in_schema=False))
    document.install(app)
    refusals.install(app)
    page_refusals.install(app)
    sign_in.install(app)
    oauth.install(app)
    # In place of the framework's own stack, which answers errors, limits bodies and traces a second time.
    app.middleware_stack = Correlation(routing(app.router), app.exception_handlers, page_refusals.answer_to_fault)
    return app


def _serve(app: FastAPI, router: APIRouter) -> None:
    """Add a router's routes to the app's own; each operation has its function's name as its id.

    An included router is matched twice, once to find it and once to find its route: a twentieth of a short request.
    """
    for route in router.routes:
        if isinstance(route, APIRoute):
            route.unique_id, route.app = route.name, answering(route.dependant)
            route.include_in_schema &= router.include_in_schema
            document.ask_for_body(route)
    app.router.routes.extend(router.routes)
