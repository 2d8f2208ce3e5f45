"""Log files of a lab's nodes.

Lines of the supervisor begin with the time in seconds since the epoch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

_TIME = re.compile(r"(\d{9,11}\.\d{3}) ")
_BLOCK = 64 * 1024


@dataclass(frozen=True)
class Line:
    """A line of a log."""

    time: float | None
    """Seconds since the epoch; None if the line does not begin with them."""
    text: str
    """The rest."""

    @classmethod
    def read(cls, line: bytes) -> Line:
        """The line, from its bytes."""
        text = line.decode(errors="replace").rstrip()
        if (head := _TIME.match(text)) is None:
            return cls(None, text)
        return cls(float(head[1]), text[head.end() :])

    def __str__(self) -> str:
        if self.time is None:
            return self.text
        local = datetime.fromtimestamp(self.time).astimezone()
        return f"{local.isoformat(timespec='milliseconds')} {self.text}"

    def to_json(self, node: str) -> dict[str, Any]:
        """The line in the output of `--json`."""
        return {"node": node, "time": self.time, "text": self.text}


@dataclass(frozen=True)
class Tail:
    """Lines of a log, and where they are in its file."""

    lines: list[Line]
    start: int
    """Offset of the first line; 0: there is no earlier one."""
    end: int
    """Offset of the end of the last line."""


def tail(file: Path, lines: int, before: int | None = None, max_bytes: int | None = None) -> Tail:
    """The last lines of a log that end at or before an offset (None: the end of the file).

    At most so many lines, and whole ones within about `max_bytes` (None: no limit). Raises OSError.
    """
    with file.open("rb") as log:
        end = log.seek(0, 2)
        if before is not None:
            end = max(min(before, end), 0)
        start, found, block = end, b"", _BLOCK
        # One more line end than lines: the one before the first line.
        while start > 0 and found.count(b"\n") <= lines:
            if max_bytes is not None and len(found) >= max_bytes:
                break
            size = min(block, start)
            start -= size
            block *= 2
            log.seek(start)
            found = log.read(size) + found
    parts = found.splitlines(keepends=True)
    if start > 0 and len(parts) > 1:
        parts = parts[1:]  # it may have begun before `start`
    kept = parts[len(parts) - lines :] if lines < len(parts) else parts
    return Tail([Line.read(part) for part in kept], end - sum(map(len, kept)), end)
