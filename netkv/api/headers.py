"""The headers that protect each response."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Scope, Send

_EMPTY = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
"""The empty style element: plotly adds one and fills it through the object model."""

POLICY = (
    "default-src 'none'; "
    "script-src 'self'; "
    # plotly sets the attribute `style` for bold text and the like in labels. An attribute can
    # neither run nor load anything. Other elements `style` and files of others are refused.
    f"style-src 'self' {_EMPTY}; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data: blob:; "
    "connect-src 'self'; "
    "font-src 'self'; "
    "frame-ancestors 'none'; "
    "base-uri 'none'; "
    "form-action 'self'"
)
"""The content security policy: everything comes from this server, and no script is inline."""
SITE_POLICY = POLICY.replace(_EMPTY, "'unsafe-inline'")
"""That of the documentation's site: its diagrams are drawn with elements `style`."""

_ALWAYS = {
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": (
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
    ),
}
_ENCRYPTED = {
    # One day: the header applies to all servers of the host name, whatever their port.
    "strict-transport-security": "max-age=86400"
}


def secured(scope: Scope, send: Send) -> Send:
    """A `send` that adds the headers. A response may have policies of its own."""
    api = scope["path"].startswith("/api")

    async def send_secured(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message.get("headers", [])))
            headers.setdefault("content-security-policy", POLICY)
            headers.setdefault("referrer-policy", "no-referrer")
            headers.update(_ALWAYS)
            if scope["scheme"] == "https":
                headers.update(_ENCRYPTED)
            if api or message["status"] >= 400:
                headers["cache-control"] = "no-store"
            message = {**message, "headers": headers.raw}
        await send(message)

    return send_secured
