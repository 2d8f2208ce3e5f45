"""The event stream: `text/event-stream` as messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Message:
    """A message of the event stream."""

    kind: str
    """`jobs`, `sample`, `event`, `dropped`, ..."""
    data: Any
    id: str
    """The position after it: a stream from `last_event_id=ID` continues behind this message."""


def parse(lines: Iterable[bytes]) -> Iterator[Message]:
    """The messages in the lines of a stream; a message without its end is none."""
    kind, number, data = "message", "", list[str]()
    for line in lines:
        text = line.decode("utf-8", errors="replace").rstrip("\r\n")
        if not text:
            if data:
                yield Message(kind, json.loads("\n".join(data)), number)
            kind, data = "message", []
            continue
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value
        elif name == "id":
            number = value
        elif name == "data":
            data.append(value)
