"""The server that runs on this machine, for programs that want to use it.

    $NETKV_HOME/server.json    mode 600, removed when the server ends

If the server was killed, the file stays. It is ignored then, as its process does not exist.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from netkv.api import private_file
from netkv.api.tls import Certificate
from netkv.home import home
from netkv.processes import Identity, identity


@dataclass(frozen=True)
class Running:
    """A running server."""

    url: str
    process: Identity
    token: bool
    """Whether its requests need the token."""
    cert: str | None = None
    """File of its certificate, if it encrypts."""


def file() -> Path:
    """The file of the server."""
    return home() / "server.json"


def find() -> Running | None:
    """The server of this state directory; None if none runs."""
    try:
        descriptor = os.open(file(), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, encoding="utf-8") as opened:
            if os.fstat(descriptor).st_uid != os.geteuid():
                # The token must not be sent to a server of somebody else.
                return None
            data = json.load(opened)
        found = Running(**{**data, "process": Identity(**data["process"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if found.process.alive else None


@contextlib.contextmanager
def announced(url: str, token: bool, certificate: Certificate | None) -> Iterator[None]:
    """Writes the file while the block runs, unless another server has done so."""
    own = identity(os.getpid())
    if own is None or find() is not None:
        yield
        return
    cert = None if certificate is None else str(certificate.cert)
    # Without the file, programs find no server; nothing else depends on it.
    with contextlib.suppress(OSError):
        text = json.dumps(asdict(Running(url, own, token, cert)), indent=2)
        with private_file.draft(file(), text) as draft:
            draft.replace(file())
    try:
        yield
    finally:
        current = find()
        if current is not None and current.process == own:
            file().unlink(missing_ok=True)
