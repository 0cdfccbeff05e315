"""Creates the FastAPI app of an API process: its routes, and the resources that it opens once.

`python -m api.server` starts it with settings from the environment; tests call `create` with their own.
"""

import asyncio
import atexit
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from api import (
    archive,
    audit,
    batches,
    changes,
    corrections,
    declarations,
    docs,
    document,
    documents,
    enquiries,
    exports,
    figures,
    files,
    health,
    imports,
    jurisdictions,
    library,
    library_writes,
    metrics,
    portfolio_exports,
    published,
    refusals,
    sandbox,
    schemas,
    security_contact,
    skus,
    supplier_data,
    suppliers,
    tokens,
    undo,
    volumes,
    webhooks,
    what_if,
    words,
)
from api.compression import Compression
from api.correlation import Correlation, LoggedRoute
from api.launching import Launching
from api.pages import refusals as page_refusals
from api.pages import routes as pages
from api.readiness import Readiness
from api.reference import routes as reference
from api.service import open_service
from api.staff import access, upstream
from connector import server
from connector.gate import Gate, at_gate
from connector.oauth import routes as oauth
from connector.owners import Owner, folder_of
from warehouse import logs, tracing
from warehouse.clock import Clock
from warehouse.database import Database
from warehouse.settings import Settings

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
        opened = database or Database.of(chosen)
        app.state.dagster_database = opened.dagster_url  # /metrics counts its runs
        async with open_service(chosen, opened, clock or Clock.of(chosen)) as service:
            app.state.service = service
            connector = server.build(service)
            owner = Owner(Gate(service, connector.app), folder_of(chosen.data_dir))
            app.state.gate = owner
            async with (
                connector.session_manager.run(),
                owner.reachable(Correlation(owner)),
                upstream.open_upstream(chosen) as app.state.dagster,
                Readiness().looking(service) as app.state.readiness,
            ):
                app.state.launching = Launching(app.state.dagster)
                if not alone:
                    yield
                    return
                service.readers.keep_warm()
                finishing = asyncio.create_task(asyncio.to_thread(_finish_start, app))
                yield
                await finishing

    return build_app(lifespan)


def _finish_start(app: FastAPI) -> None:
    """Build the document, then freeze all objects, so that no garbage collection visits them (decision 0024).

    The process answers meanwhile: a start would take half a second longer, and few callers ask for the document.
    """
    app.openapi()
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # libraries that report leaks would report all frozen objects
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])


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
    )
    # Paths with a name come before the single SKU: the name would else be read as a SKU's id.
    for resource in (
        tokens,
        sandbox,
        batches,
        exports,
        archive,
        what_if,
        skus,
        volumes,
        files,
        imports,
        corrections,
        undo,
        portfolio_exports,
        words,
        library,
        library_writes,
        docs,
        figures,
        declarations,
        documents,
        enquiries,
        changes,
        webhooks,
        suppliers,
        audit,
        jurisdictions,
        published,
        schemas,
        health,
        supplier_data,
        reference,
    ):
        _serve(app, resource.router)
    for beside in (metrics, security_contact, pages, oauth):
        _serve(app, beside.router)
    access.install(app)
    app.router.routes.append(LoggedRoute(server.PATH, endpoint=at_gate, include_in_schema=False))
    document.install(app)
    refusals.install(app)
    page_refusals.install(app)
    oauth.install(app)
    app.add_middleware(Compression)
    app.add_middleware(Correlation, fault=page_refusals.answer_to_fault)
    return app


def _serve(app: FastAPI, router: APIRouter) -> None:
    """Add a router's routes to the app's own; each operation has its function's name as its id.

    An included router is matched twice, once to find it and once to find its route: a twentieth of a short request.
    """
    for route in router.routes:
        if isinstance(route, APIRoute):
            route.unique_id = route.name
    app.router.routes.extend(router.routes)
