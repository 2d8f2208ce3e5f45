"""Refuses requests of other web pages: the API has no password and serves 127.0.0.1 only.

A page elsewhere can make the user's browser send requests here. So:

1. the Host header must name this machine (or a name that was rebound to 127.0.0.1 gets through);
2. a request that changes something must be JSON, which a form cannot send and a script of another
   origin may not send without asking first, and that question is never answered with yes;
3. the origin that a browser sends must be this one.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SAFE = frozenset({"GET", "HEAD"})
_RESPONSE_HEADERS = {
    "content-security-policy": (
        # plotly styles its elements itself; everything else comes from files of ours.
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """ASGI middleware that refuses what did not come from our own page or a local program."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with what is wrong."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        problem = refusal(scope["method"], Headers(scope=scope))
        if problem is not None:
            status, text = problem
            await JSONResponse({"error": text}, status)(scope, receive, send)
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
    """Status and sentence if the request must not be served, None if it may."""
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
