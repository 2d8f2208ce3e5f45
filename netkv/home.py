"""netkv's state directory: where it is, and how what it holds is named and reached."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from netkv.errors import UsageError

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def home() -> Path:
    """netkv's state directory."""
    configured = os.environ.get("NETKV_HOME")
    return Path(configured).absolute() if configured else Path.home() / ".local/state/netkv"


def check_name(name: str) -> str:
    """Returns the name if it is valid for a lab; raises `UsageError` otherwise."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' cannot be the name of a lab: names have up to 40 small letters, digits and "
            f"dashes, and begin with a letter or digit."
        )
    return name


@contextlib.contextmanager
def socket_path(directory: Path) -> Iterator[str]:
    """A short path of a lab's socket, also if the path of the state directory is long.

    A unix socket's path may have 107 bytes; via a descriptor of its directory it has about 30.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/control"
    finally:
        os.close(descriptor)
