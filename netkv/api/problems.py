"""Errors of the API, as JSON documents with one sentence."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from netkv.errors import NetkvError, UsageError

_log = logging.getLogger("netkv.api")


class ConflictError(NetkvError):
    """The request conflicts with a run in progress, or there is no run to stop."""


class NotFoundError(NetkvError):
    """The requested object does not exist."""


def install(app: FastAPI) -> None:
    """Make the application answer every error with `{"error": sentence}`."""
    app.add_exception_handler(NetkvError, _netkv)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(Exception, _unexpected)


def _answer(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": text}, status)


async def _netkv(_request: Request, error: Exception) -> JSONResponse:
    statuses = {NotFoundError: 404, ConflictError: 409, UsageError: 422}
    status = next((code for kind, code in statuses.items() if isinstance(error, kind)), 500)
    return _answer(status, str(error))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    text = str(error.detail)
    if error.status_code == 404:
        text = f"There is nothing at {request.url.path}."
    if error.status_code == 405:
        text = f"{request.method} is not possible at {request.url.path}."
    return _answer(error.status_code, text)


async def _validation(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    found = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"][1:]) or "the request"
        message = item["msg"].replace("Input should be", "it should be")
        found.append(f"'{where}': {message}" if where != "the request" else f"{where}: {message}")
    return _answer(422, "; ".join(found) + ".")


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _answer(500, f"Internal error of netkv ({type(error).__name__}); see its log.")
