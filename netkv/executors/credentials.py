"""The certificate of one cluster: whoever has it belongs to the cluster, and nobody else.

A cluster that a command starts exists as long as the command. Its certificate is made then, and
reaches workers through what is encrypted already or only the user can read. It is on no command
line. OpenSSL reads keys from files only, so Dask writes it into a temporary folder that only the
user can read, and deletes that at once.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from distributed.security import Security

from netkv.errors import UsageError


@dataclass(frozen=True)
class Credentials:
    """Certificate and key, as PEM."""

    certificate: str
    key: str


@dataclass(frozen=True)
class Invitation:
    """What a worker needs to join a cluster."""

    address: str
    """Of the scheduler: `tls://10.0.0.1:8786`."""
    credentials: Credentials

    def text(self) -> str:
        """One line for `read`."""
        return json.dumps(asdict(self))


def made() -> Credentials:
    """New ones."""
    security = Security.temporary()
    return Credentials(security.tls_ca_file, security.tls_client_key)


def joined(own: Credentials) -> Security:
    """Dask's options for a member of the cluster."""
    parts: dict[str, Any] = {"tls_ca_file": own.certificate}
    for role in ("scheduler", "worker", "client"):
        parts[f"tls_{role}_cert"] = own.certificate
        parts[f"tls_{role}_key"] = own.key
    return Security(require_encryption=True, **parts)


def read(text: str) -> Invitation:
    """Reads what `Invitation.text` has written; raises `UsageError`."""
    try:
        data = json.loads(text)
        return Invitation(data["address"], Credentials(**data["credentials"]))
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            "The standard input has no invitation to a cluster; 'netkv scenario run --on' writes "
            "it when it starts workers."
        ) from error
