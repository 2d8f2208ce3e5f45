"""Files that only their owner may read, and that others see as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def draft(file: Path, text: str) -> Iterator[Path]:
    """A file with this text beside `file`, of mode 600. The block gives it the name of `file`;
    otherwise it is removed. Raises `OSError`."""
    found = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    found.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(found, flags, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            # Not what umask has left of the mode.
            os.fchmod(descriptor, 0o600)
            opened.write(text)
        yield found
    finally:
        found.unlink(missing_ok=True)
