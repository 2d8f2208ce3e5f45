"""The address at which the gateway listens."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import ip_address

from netkv.errors import UsageError


@dataclass(frozen=True)
class Address:
    """An address of this machine."""

    host: str
    """Of IP, with the scope if it has one."""
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def resolved(host: str, port: int, *, allow_remote: bool) -> Address:
    """The address of a host name.

    Raises `UsageError` if there is none, and if other machines could reach it and that is not
    allowed.
    """
    try:
        found = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)[0][4]
    except OSError as error:
        raise UsageError(
            f"'{host}' is not an address of this machine: {error.strerror}. Use 127.0.0.1 or ::1."
        ) from error
    name = str(found[0]).partition("%")[0]
    if not ip_address(name).is_loopback and not allow_remote:
        raise UsageError(
            f"The gateway has no password, and other machines could reach {host}. Use 127.0.0.1, "
            f"or --allow-remote if everyone who can reach it may read and write the rack."
        )
    scope = found[3] if len(found) == 4 else 0
    return Address(f"{name}%{scope}" if scope else name, port)
