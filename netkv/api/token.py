"""The token of the API, for servers that listen on other addresses than loopback.

    $NETKV_HOME/api-token    one line, mode 600, made on first use

The file is the only place of the token: no command line, URL or log has it.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path

from netkv.api import private_file
from netkv.errors import NetkvError
from netkv.home import home

_BYTES = 32
_MAX_FILE = 1024


def file() -> Path:
    """The file of the token."""
    return home() / "api-token"


def make(replace: bool = False) -> str:
    """The token; made if there is none, or if it is to be replaced.

    Raises `NetkvError` if the file cannot be written, or if others may read or write it.
    """
    if replace or not file().exists():
        _write(secrets.token_urlsafe(_BYTES), replace)
    return read()


def read() -> str:
    """The token in the file; raises `NetkvError`."""
    try:
        descriptor = os.open(file(), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise NetkvError(f"The token file {file()} cannot be read: {error.strerror}.") from error
    with os.fdopen(descriptor, "rb") as opened:
        about = os.fstat(descriptor)
        text = opened.read(_MAX_FILE).decode("ascii", errors="replace").strip()
    if about.st_uid != os.geteuid():
        raise NetkvError(
            f"The token file {file()} belongs to another user. Delete it; 'netkv token' makes a "
            f"new one."
        )
    if not stat.S_ISREG(about.st_mode) or stat.S_IMODE(about.st_mode) != 0o600:
        raise NetkvError(
            f"The token file {file()} has the mode {stat.S_IMODE(about.st_mode):o}, so others may "
            f"know the token. 'netkv token --new' makes a new one."
        )
    if len(text) < _BYTES:
        raise NetkvError(
            f"The token file {file()} has no token. 'netkv token --new' makes a new one."
        )
    return text


class Token:
    """The token of a running server. A replaced one counts from the next request on."""

    def __init__(self) -> None:
        """Makes the token if there is none; raises `NetkvError` as `make`."""
        self._known = make().encode()
        self._stamp = _stamp()

    def matches(self, given: bytes) -> bool:
        """Whether this is the token, compared in constant time."""
        stamp = _stamp()
        if stamp != self._stamp:
            try:
                self._known, self._stamp = read().encode(), stamp
            except NetkvError:
                # Until the file is right again, nobody is let in.
                return False
        return hmac.compare_digest(given, self._known)


def _stamp() -> tuple[int, ...]:
    try:
        about = file().lstat()
    except OSError:
        return ()
    return (about.st_ino, about.st_mtime_ns, about.st_mode, about.st_uid)


def _write(token: str, replace: bool) -> None:
    try:
        with private_file.draft(file(), token + "\n") as draft:
            if replace:
                draft.replace(file())
            else:
                _link(draft)
    except OSError as error:
        raise NetkvError(f"The token file {file()} cannot be written: {error.strerror}.") from error


def _link(draft: Path) -> None:
    """Gives the draft its name, unless another process was first: then its token counts."""
    try:
        os.link(draft, file())
    except FileExistsError:
        return
