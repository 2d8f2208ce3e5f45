"""Errors of the API: problem documents (RFC 9457) of the type `application/problem+json`.

`detail` is a sentence: what is wrong, and what would be right. Errors of a request have `errors`,
with the name of each wrong field.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import compile_path

from netkv import kinds
from netkv.api.errors import ConflictError, LimitError, NotFoundError, RequestFieldError
from netkv.api.models.base import Model
from netkv.errors import NetkvError, OptionsError, StoreError, UsageError, of_disk

MEDIA_TYPE = "application/problem+json"

_log = logging.getLogger("netkv.api")
K = TypeVar("K")
T = TypeVar("T")


class WrongField(Model):
    """A field of a request that is wrong."""

    field: str
    """Path of the field in the body, or name of the parameter; empty for the whole request."""
    detail: str
    where: str = ""
    """Where it is in the text of a scenario, such as `scenario.yaml:7`; empty if it is in none."""


class Problem(Model):
    """The body of every error response."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Unprocessable Content",
                    "status": 422,
                    "detail": "'repeat': it should be greater than or equal to 1.",
                    "errors": [
                        {
                            "field": "repeat",
                            "detail": "it should be greater than or equal to 1",
                            "where": "",
                        }
                    ],
                }
            ]
        }
    )

    type: str = "about:blank"
    title: str
    """The meaning of the status, in words."""
    status: int
    detail: str
    """A sentence: what is wrong, and how to correct it."""
    errors: list[WrongField] = Field(default_factory=list)
    """The wrong fields of the request, if any."""


_STATUSES: dict[type[NetkvError], int] = {
    NotFoundError: 404,
    ConflictError: 409,
    UsageError: 422,
    LimitError: 429,
    StoreError: 503,
}
_MEANINGS = {
    404: "The requested object does not exist.",
    409: "The state of the server does not permit the request.",
    422: "The request is invalid.",
    429: "The request exceeds a limit of the server.",
}


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The description of error responses, for the parameter `responses` of a route."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": _MEANINGS[status], "content": content, "model": Problem}
        for status in statuses
    }


def found(query: Callable[[K], T], key: K) -> T:
    """The result of `query(key)`; its `UsageError` becomes a `NotFoundError`."""
    try:
        return query(key)
    except UsageError as error:
        raise NotFoundError(str(error)) from error


def permitted(change: Callable[[], T]) -> T:
    """The result of a change. If the state of the store does not permit it, its error becomes a
    `ConflictError`."""
    try:
        return change()
    except UsageError:
        raise
    except NetkvError as error:
        raise ConflictError(str(error)) from error


def document(
    status: int,
    detail: str,
    errors: Sequence[WrongField] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """An error response."""
    problem = Problem(
        title=HTTPStatus(status).phrase, status=status, detail=detail, errors=list(errors)
    )
    return JSONResponse(problem.model_dump(), status, media_type=MEDIA_TYPE, headers=headers)


def install(app: FastAPI) -> None:
    """Make the application answer every error with a problem document."""
    app.add_exception_handler(NetkvError, _netkv)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(OSError, _disk)
    app.add_exception_handler(Exception, _unexpected)


async def _netkv(_request: Request, error: Exception) -> JSONResponse:
    status = next((code for kind, code in _STATUSES.items() if isinstance(error, kind)), 500)
    wrong = []
    if isinstance(error, RequestFieldError):
        wrong = [WrongField(field=error.field, detail=str(error))]
    if isinstance(error, OptionsError):
        wrong = [
            WrongField(field=each.option, where=each.where, detail=each.text)
            for each in error.wrong
        ]
    return document(status, str(error), wrong)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    text = str(error.detail)
    if isinstance(error.__cause__, ValueError):
        text = _no_json(error.__cause__)
    if error.status_code == 404:
        text = f"There is nothing at {request.url.path}."
    headers = error.headers
    if error.status_code == 405:
        text = f"{request.method} is not possible at {request.url.path}."
        headers = _allow(request) or headers
    return document(error.status_code, text, headers=headers)


def _no_json(cause: ValueError) -> str:
    """Why the reader of JSON fails otherwise than by the syntax, which `_validation` tells."""
    if isinstance(cause, UnicodeDecodeError):
        return f"The body is not UTF-8: its byte {cause.start + 1:,} begins no character."
    most = sys.get_int_max_str_digits()
    return f"The body has a number of more than {most:,} digits, which is the limit."


def _allow(request: Request) -> dict[str, str] | None:
    """The methods of a path. Each has a route of its own, so no route knows the others."""
    paths = request.app.openapi()["paths"]
    matching = [each for each in paths if compile_path(each)[0].match(request.url.path)]
    if not matching:
        return None
    # `/runs/tag` is a path of its own, and not a run.
    path = min(matching, key=lambda each: each.count("{"))
    return {"allow": ", ".join(sorted(method.upper() for method in paths[path]))}


async def _validation(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    wrong = [
        WrongField(
            field=".".join(str(part) for part in item["loc"][1:]),
            detail=kinds.described(item),
        )
        for item in error.errors()
    ]
    sentences = [
        f"'{each.field}': {each.detail}" if each.field else f"the request: {each.detail}"
        for each in wrong
    ]
    return document(422, "; ".join(sentences) + ".", wrong)


async def _disk(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OSError)
    if (sentence := of_disk(error)) is None:
        return await _unexpected(request, error)
    return document(503, sentence)


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return document(500, f"Internal error of netkv ({type(error).__name__}); see its log.")
