"""Protection of the application: everything that is decided before a route sees a request.

1. Every response has the headers of `headers`.
2. There are at most `MAX_REQUESTS` requests at a time.
3. A server that has a token answers 401 to a request without it (`login`).
4. The Host header must name the server, and a request of another origin is refused (`access`).
5. A body must be JSON, and a POST must say so even if it has none: a form cannot send it, and a
   script of another origin needs a CORS preflight, which this server never grants. Other methods
   that change something need the preflight anyway. What is not served at all gets 404 or 405 of
   the application.
6. Its body is limited in size, in time and in the depth of its JSON (`body`).
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from netkv.api import limits, problems
from netkv.api.access import Access
from netkv.api.body import Body, TooLargeError, nested_too_deeply
from netkv.api.headers import secured
from netkv.api.login import Login

_CHANGES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Guard:
    """ASGI middleware for HTTP that serves permitted requests only."""

    def __init__(self, app: ASGIApp, access: Access, serves: Callable[[Scope], bool]) -> None:
        self._app = app
        self._serves = serves
        self._access = access
        self._login = None if access.token is None else Login(access, access.token)
        self._requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, or refuse it with an error."""
        send = secured(scope, send)
        if self._requests >= limits.MAX_REQUESTS:
            text = f"{self._requests} requests are in progress, which is the limit. Try it again."
            busy = problems.document(503, text, headers={"retry-after": "1"})
            await busy(scope, receive, send)
            return
        self._requests += 1
        try:
            await self._serve(scope, receive, send)
        finally:
            self._requests -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        body = Body(receive)
        if self._login is not None and await self._login.answered(scope, headers, body, send):
            return
        problem = self._access.refusal(scope, headers)
        if problem is None and scope["method"] in _CHANGES:
            try:
                problem = await self._read(scope, headers, body)
            except ConnectionError:
                return
            receive = body.receive_again
        if problem is None:
            await self._app(scope, receive, send)
        else:
            await body.refuse(problems.document(*problem), scope, send)

    async def _read(self, scope: Scope, headers: Headers, body: Body) -> tuple[int, str] | None:
        """Reads the body of a request that changes something; returns why it is refused."""
        if not _is_json(scope["method"], headers) and self._serves(scope):
            return 415, "A request with POST or a body must have 'Content-Type: application/json'."
        try:
            declared = headers.get("content-length")
            found = await body.read(declared, limits.MAX_BODY, limits.BODY_SECONDS)
            if nested_too_deeply(found, limits.MAX_JSON_DEPTH):
                return 422, (
                    f"The body is nested too deeply: at most {limits.MAX_JSON_DEPTH} levels of "
                    f"objects and lists are possible."
                )
        except TooLargeError:
            return 413, f"The body of a request may have at most {limits.MAX_BODY} bytes."
        except TimeoutError:
            return 408, f"The body did not arrive within {limits.BODY_SECONDS:.0f} seconds."
        return None


def _is_json(method: str, headers: Headers) -> bool:
    """Whether a request has a body of the right type, or has none and need not have one."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind or method == "POST":
        return kind == "application/json"
    return headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
