"""Which requests a server accepts: the address it listens on, names of its host, and the token.

1. On a loopback address there is no token, unless it is wanted: the programs of this machine may
   use the API.
2. On every other address, each request needs the token, those over loopback included.
3. The Host header must name the server, against DNS rebinding: a page of another site that has its
   own name resolve to this address would otherwise be of the same origin.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from starlette.datastructures import Headers
from starlette.types import Scope

from netkv.api.token import Token
from netkv.errors import UsageError

IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

LOOPBACK = ipaddress.IPv4Address("127.0.0.1")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?)(:[0-9]{1,5})?")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


@dataclass(frozen=True)
class Access:
    """Who may use a server."""

    address: IPAddress = LOOPBACK
    """The address that it is bound to."""
    token: Token | None = None
    """None: no request needs one."""
    names: frozenset[str] = _LOOPBACK_NAMES
    """Names in the Host header, without a port."""

    def refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Status and sentence of a request that must be refused; None for others."""
        host = headers.get("host", "").lower()
        if not self._is_own(host, scope.get("server")):
            if self.token is None:
                return 421, f"This server is for {self.address} only, not for '{host}'."
            return 421, f"This server is not '{host}'. Its operator can add '--allow-host NAME'."
        return _cross_site(scope, headers, host)

    def _is_own(self, host: str, server: Sequence[Any] | None) -> bool:
        """Whether a Host header names this server."""
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        if match[1] in self.names:
            return True
        literal = _literal(match[1])
        if literal is None or self.token is None:
            return literal is not None and literal == self.address
        # An address is no name, so a page of another site cannot have it resolve to this server.
        return self.address.is_unspecified or (
            server is not None and literal == _literal(str(server[0]))
        )


def _cross_site(scope: Scope, headers: Headers, host: str) -> tuple[int, str] | None:
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return 403, "This server answers its own page and local programs only."
    if scope["method"] in _SAFE:
        return None
    origin = headers.get("origin")
    if origin is not None and origin != f"{scope['scheme']}://{host}":
        return 403, f"Requests from '{origin}' are not accepted, only those of this server's page."
    return None


def of(host: str, allowed: Collection[str] = (), *, guarded: bool = False) -> Access:
    """The access of a server with this `--host` and these `--allow-host`.

    `guarded`: it has a token on a loopback address as well.

    Raises `UsageError` for wrong ones, and `NetkvError` if there can be no token.
    """
    address = _address(host)
    for name in allowed:
        if _NAME.fullmatch(name.lower()) is None:
            raise UsageError(
                f"'--allow-host {name}': it should be a name such as 'testbed.example.org', "
                f"without scheme and port."
            )
    if address.is_loopback and not guarded:
        if allowed:
            raise UsageError(
                f"'--allow-host' is for servers with a token ('--require-token'): {address} is "
                f"reached from this machine only."
            )
        return Access(address)
    own = {"localhost"} if address.is_loopback else _own_names()
    return Access(address, Token(), frozenset(own | {name.lower() for name in allowed}))


def _own_names() -> set[str]:
    return {"localhost", socket.gethostname().lower(), socket.getfqdn().lower()}


def _address(host: str) -> IPAddress:
    if host == "localhost":
        host = "127.0.0.1"
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        raise UsageError(
            f"'--host {host}': it should be an IP address of this machine, such as 192.0.2.7; "
            f"0.0.0.0 means all."
        ) from None


def _literal(text: str) -> IPAddress | None:
    """The address that a text is; an IPv4 address as such also if IPv6 has embedded it."""
    try:
        found = ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped
    return found
