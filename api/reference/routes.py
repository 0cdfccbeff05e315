"""/reference: serves the reference pages, rendered at the first request; they are not in the OpenAPI document."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import PurePath
from typing import Final

import orjson
from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import accepted_language, cacheable
from api.http.errors import HttpRefusal
from api.reference import guides
from api.reference.collection import collection
from api.reference.pages import HEADERS, KEPT_SECONDS, TOLD, render
from schemas.issues import Issue
from schemas.messages import LANGUAGES, Message
from schemas.normalise import quote
from schemas.refusals import Refused
from services.imports.workbook import template

router = APIRouter(include_in_schema=False)
router.routes.extend(guides.router.routes)  # before the pages, of which `guides` would be one

_STYLE: Final = (files("api.reference") / "style.css").read_bytes()
_STYLE_NAME: Final = "style.css"
_PACKAGES: Final = {".whl": "application/zip", ".tgz": "application/gzip"}
"""Media types of the clients' packages by the end of their name."""
_XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@router.get("/reference/template.xlsx")
def get_template(request: Request) -> Response:
    """The workbook to fill in and import, in the language `lang` (en, fr or de; en without it)."""
    lang = request.query_params.get("lang", LANGUAGES[0])
    if lang not in LANGUAGES:
        sentence = Message(
            "{lang} is no language of the template; send one of: {languages}.",
            lang=quote(lang),
            languages=", ".join(LANGUAGES),
        )
        raise Refused([Issue("not_in_vocabulary", sentence, "lang")])
    headers = {"Content-Disposition": f'attachment; filename="packaging-{lang}.xlsx"', **HEADERS}
    return cacheable(request, template(lang), _XLSX, seconds=KEPT_SECONDS, headers=headers)


@router.get("/reference/collection.json")
def get_collection(request: Request) -> Response:
    """The collection for API clients, to import as a file or by its address."""
    headers = {"Content-Disposition": 'attachment; filename="pcds-collection.json"', **HEADERS}
    body = orjson.dumps(collection(request.app.openapi()), option=orjson.OPT_INDENT_2)
    return cacheable(request, body, "application/json", seconds=KEPT_SECONDS, headers=headers)


@router.get("/reference/clients/{name}")
def get_client(request: Request, name: str) -> Response:
    """An official client as a package to install, of the interface's version (decision 0102)."""
    package = next((file for file in files("api.reference").joinpath("clients").iterdir() if file.name == name), None)
    if package is None or (media_type := _PACKAGES.get(PurePath(name).suffix)) is None:
        raise HttpRefusal("not_found")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', **HEADERS}
    return cacheable(request, package.read_bytes(), media_type, seconds=KEPT_SECONDS, headers=headers)


@router.get("/reference")
@router.get("/reference/{page}")
def reference(request: Request) -> Response:
    """One page of the reference in the language `lang`, else the one that Accept-Language asks for; or its style."""
    name = request.path_params.get("page", "")
    if name == _STYLE_NAME:
        return cacheable(request, _STYLE, "text/css", seconds=KEPT_SECONDS, headers=HEADERS)
    lang = _language(request) if name in TOLD else LANGUAGES[0]
    pages = _rendered(request.app, lang)
    if name not in pages:
        raise HttpRefusal("not_found")
    headers = {**HEADERS, "Content-Language": lang, **({"Vary": "Accept-Language"} if name in TOLD else {})}
    return cacheable(request, pages[name], "text/html", seconds=KEPT_SECONDS, headers=headers)


def _language(request: Request) -> str:
    lang = request.query_params.get("lang")
    if lang is None:
        return accepted_language(request)
    if lang not in LANGUAGES:
        sentence = Message(
            "{lang} is no language of this page; send one of: {languages}.",
            lang=quote(lang),
            languages=", ".join(LANGUAGES),
        )
        raise Refused([Issue("not_in_vocabulary", sentence, "lang")])
    return lang


def _rendered(app: FastAPI, lang: str) -> Mapping[str, bytes]:
    """Return the pages of a language by the last part of their path, rendered once."""
    if not hasattr(app.state, "reference"):
        app.state.reference = {}
    rendered: dict[str, dict[str, bytes]] = app.state.reference
    if lang not in rendered:
        rendered[lang] = {name: page.encode() for name, page in render(app.openapi(), lang).items()}
    return rendered[lang]
