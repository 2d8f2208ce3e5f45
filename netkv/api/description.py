"""The OpenAPI document: what FastAPI derives from the routes, and what all operations share."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from netkv.api import limits
from netkv.api.login import COOKIE
from netkv.api.models.stream import MESSAGES
from netkv.api.problems import MEDIA_TYPE
from netkv.runs import series
from netkv.runs.query import sortable

DESCRIPTION = """\
Runs, scenarios, jobs, labs, programs and designs of netkv.

- Rates are operations per second, latencies microseconds, times seconds.
- Every error is a problem document (RFC 9457). Its `detail` is a sentence, `errors` has the wrong
  fields of a request.
- A request with a body, and every POST, has `Content-Type: application/json`.
- On 127.0.0.1 there is no token. On other addresses every request needs it: as
  `Authorization: Bearer TOKEN`, or in the cookie that the form of `POST /login` sets. `netkv token`
  prints it.
"""

TAGS = {
    "runs": "Stored runs: lists, records, series, comparisons, metrics.",
    "figures": "Figures of stored runs, for a page and as files.",
    "scenarios": "Scenarios that ship with netkv, their options, and a check of your own.",
    "jobs": "Scenarios that run, wait in the queue or have ended; and the event stream.",
    "labs": "Racks that stay up: their nodes, tables, logs, load and faults.",
    "programs": "P4 programs: what they consist of, and what they do with a packet.",
    "schemes": "The schemes and their options.",
    "designs": "Designs for FPGAs, those that ship and those that run live.",
    "benchmarks": "Benchmarks of netkv itself.",
    "tools": "Long commands that search for faults, or measure this machine.",
    "health": "The state of the server and of this machine, and metrics for Prometheus.",
}

_SHARED = {
    "400": ("BadRequest", "The body is no JSON document, or the header is malformed or too large."),
    "401": ("Unauthorized", "The server needs its token."),
    "403": ("Forbidden", "The request is of another web page."),
    "408": ("RequestTimeout", f"The body needs more than {limits.BODY_SECONDS:.0f} seconds."),
    "413": ("ContentTooLarge", f"The body has more than {limits.MAX_BODY} bytes."),
    "415": ("UnsupportedMediaType", "The body is not JSON."),
    "421": ("MisdirectedRequest", "The Host header names another server."),
    "503": ("ServiceUnavailable", "Too many requests are in progress."),
}
_OF_CHANGES = frozenset({"408", "413", "415"})
"""Those of requests that change something."""


def install(app: FastAPI) -> None:
    """Make the application describe itself."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _described(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=DESCRIPTION,
        routes=app.routes,
        servers=[{"url": "/", "description": "This server."}],
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    _add_stream(document)
    _add_names(document)
    document = _distinct(document)
    parts = document["components"]
    parts["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "What 'netkv token' prints."},
        "cookie": {
            "type": "apiKey",
            "in": "cookie",
            "name": COOKIE,
            "description": "The token, as `POST /login` sets it.",
        },
    }
    # The empty one: a server on a loopback address needs no token.
    document["security"] = [{}, {"token": []}, {"cookie": []}]
    parts["responses"] = {
        name: _problem(int(status), text) for status, (name, text) in _SHARED.items()
    }
    for path in document["paths"].values():
        for method, operation in path.items():
            operation["summary"] = operation["operationId"].replace("_", " ").capitalize()
            for status, (name, _) in _SHARED.items():
                if method != "get" or status not in _OF_CHANGES:
                    reference = {"$ref": f"#/components/responses/{name}"}
                    operation["responses"].setdefault(status, reference)
            if method == "post":
                # Also if it may be empty: otherwise a client would not send its type.
                operation["requestBody"]["required"] = True
            for status, response in operation["responses"].items():
                if int(status) >= 400 and "content" in response:
                    # FastAPI adds its own type of every model.
                    response["content"].pop("application/json", None)
            operation["responses"] = dict(sorted(operation["responses"].items()))
    return document


def _add_names(document: dict[str, Any]) -> None:
    """Adds the names that a parameter may have, which follow from the metrics of the schemes."""
    options = {"type": "string", "maxLength": 100, "pattern": r"^[a-z0-9_]+(\.[a-z0-9_]+)*$"}
    sort = _parameter(document, "/runs", "sort")["schema"]
    sort["anyOf"] = [{"type": "string", "enum": sortable()}, options]
    columns = _parameter(document, "/runs/{run_id}/series", "columns")["schema"]
    columns["items"] = {"anyOf": [{"type": "string", "enum": series.names()}, columns["items"]]}


def _parameter(document: dict[str, Any], path: str, name: str) -> dict[str, Any]:
    """A parameter of a GET request, as the document describes it."""
    operations = next(it for full, it in document["paths"].items() if full.endswith(f"/v1{path}"))
    parameters = operations["get"]["parameters"]
    found: dict[str, Any] = next(each for each in parameters if each["name"] == name)
    return found


def _distinct(document: dict[str, Any]) -> dict[str, Any]:
    """The document with a title of its own for each schema.

    A model has two schemas if it differs as input and output. FastAPI gives both the title of the
    model, and generators of clients name their classes after titles.
    """
    schemas: dict[str, Any] = document["components"]["schemas"]
    names = {
        name: name.replace("-Input", "Input").removesuffix("-Output")
        for name in schemas
        if name.endswith(("-Input", "-Output"))
    }
    document["components"]["schemas"] = {
        names.get(name, name): {**schema, "title": names.get(name, name)}
        for name, schema in schemas.items()
    }
    renamed: dict[str, Any] = _with_references(document, names)
    return renamed


def _with_references(part: Any, names: Mapping[str, str]) -> Any:
    """A part of the document, with references to schemas by their new names."""
    if isinstance(part, list):
        return [_with_references(each, names) for each in part]
    if not isinstance(part, dict):
        return part
    start = "#/components/schemas/"
    return {
        key: start + names.get(value.removeprefix(start), value.removeprefix(start))
        if key == "$ref" and isinstance(value, str) and value.startswith(start)
        else _with_references(value, names)
        for key, value in part.items()
    }


def _add_stream(document: dict[str, Any]) -> None:
    """Adds the messages of the event stream, which FastAPI does not derive."""
    _, found = models_json_schema(
        [(model, "serialization") for model in MESSAGES],
        ref_template="#/components/schemas/{model}",
    )
    for name, schema in found["$defs"].items():
        document["components"]["schemas"].setdefault(name, schema)
    references = [{"$ref": f"#/components/schemas/{model.__name__}"} for model in MESSAGES]
    for path, operations in document["paths"].items():
        if path.endswith("/stream"):
            properties = {
                "event": {"type": "string"},
                "id": {"type": "string"},
                "data": {
                    "type": "string",
                    "contentMediaType": "application/json",
                    "contentSchema": {"oneOf": references},
                },
            }
            content = operations["get"]["responses"]["200"]["content"]
            content["text/event-stream"] = {
                "itemSchema": {"type": "object", "properties": properties, "required": ["data"]}
            }


def _problem(status: int, text: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    example = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": text,
        "errors": [],
    }
    return {
        "description": text,
        "content": {MEDIA_TYPE: {"schema": schema, "example": example}},
    }
