"""Protection against requests of other web pages: the API has no password.

The API serves 127.0.0.1 only, but other pages can make the user's browser send requests to it. So:

1. the Host header must name this machine, against DNS rebinding;
2. a request that changes something must be JSON: a form cannot send it, and a script of another
   origin needs a CORS preflight, which this server never grants;
3. the Origin header, if there is one, must be this server.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from netkv.api import problems

_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SAFE = frozenset({"GET", "HEAD"})
_RESPONSE_HEADERS = {
    "content-security-policy": (
        # plotly sets inline styles; all scripts and other styles are files of this server.
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """ASGI middleware that serves only the dashboard's page and local programs."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, or refuse it with an error."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        problem = refusal(scope["method"], Headers(scope=scope))
        if problem is not None:
            status, text = problem
            await problems.document(status, text)(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []),
                    *((name.encode(), value.encode()) for name, value in _RESPONSE_HEADERS.items()),
                ]
            await send(message)

        await self._app(scope, receive, send_guarded)


def refusal(method: str, headers: Headers) -> tuple[int, str] | None:
    """Status and error message of a request that must be refused; None for others."""
    host = headers.get("host", "")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if name not in _HOSTS:
        return 421, f"This server is for 127.0.0.1 only, not for '{host}'."
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return 403, "This server answers its own page and local programs only."
    if method in _SAFE:
        return None
    origin = headers.get("origin")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return 403, f"Requests from '{origin}' are not accepted, only those of this server's page."
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return 415, "A request that changes something must have 'Content-Type: application/json'."
    return None
