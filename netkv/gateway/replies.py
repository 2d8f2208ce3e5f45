"""Replies of the Redis protocol: version 2, or version 3 after HELLO 3.

A reply is a Python value: None, an int, bytes or str (a bulk string), a list, a dict, or one of the
types below. Version 2 has no maps, sets and verbatim strings; they become lists and bulk strings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union


@dataclass(frozen=True)
class Simple:
    """A word such as OK."""

    text: str


@dataclass(frozen=True)
class Failure:
    """An error: a code in capitals and a sentence."""

    text: str


@dataclass(frozen=True)
class Verbatim:
    """A text of several lines for users."""

    text: str


@dataclass(frozen=True)
class Words:
    """A set of simple strings, such as the flags of a command."""

    words: tuple[str, ...]


Reply: TypeAlias = Union[
    int, bytes, str, Simple, Failure, Verbatim, Words, "list[Reply]", "dict[str, Reply]", None
]

OK = Simple("OK")


def encoded(reply: Reply, protocol: int) -> bytes:
    """The bytes of a reply in version 2 or 3 of the protocol."""
    if type(reply) is bytes:  # most replies are
        return b"$%d\r\n%b\r\n" % (len(reply), reply)
    if reply is OK:
        return b"+OK\r\n"
    parts: list[bytes] = []
    _write(reply, protocol, parts)
    return b"".join(parts)


def _write(reply: Reply, protocol: int, parts: list[bytes]) -> None:
    match reply:
        case None:
            parts.append(b"_\r\n" if protocol == 3 else b"$-1\r\n")
        case int():
            parts.append(b":%d\r\n" % reply)
        case bytes() | str():
            data = reply.encode() if isinstance(reply, str) else reply
            parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
        case Simple(text):
            parts.append(b"+%b\r\n" % _line(text))
        case Failure(text):
            parts.append(b"-%b\r\n" % _line(text))
        case Verbatim(text):
            data = text.encode()
            if protocol == 3:
                parts.append(b"=%d\r\ntxt:%b\r\n" % (len(data) + len(b"txt:"), data))
            else:
                parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
        case Words(words):
            parts.append(b"%b%d\r\n" % (b"~" if protocol == 3 else b"*", len(words)))
            parts.extend(b"+%b\r\n" % _line(word) for word in words)
        case list():
            parts.append(b"*%d\r\n" % len(reply))
            for item in reply:
                _write(item, protocol, parts)
        case dict():
            head = b"%%%d\r\n" % len(reply) if protocol == 3 else b"*%d\r\n" % (2 * len(reply))
            parts.append(head)
            for name, item in reply.items():
                _write(name, protocol, parts)
                _write(item, protocol, parts)


def _line(text: str) -> bytes:
    """Text on one line: a newline would end a simple string."""
    return " ".join(text.splitlines()).encode()
