"""Parsing of requests: limits and inline commands here, other requests by hiredis.

hiredis allocates as many elements as a request announces, has no limits and no inline commands, and
cannot be used after an error. So this module checks the announced lengths as they arrive, and gives
hiredis only complete requests within the limits.
"""

from __future__ import annotations

import re

import hiredis

from netkv.gateway.backend import shown
from netkv.gateway.inline import words_of

MAX_REQUEST = 2 * 1024 * 1024
"""Bytes of one request."""
MAX_WORD = 1024 * 1024
"""Bytes of one word. The limit of values is much lower and has an error message of its own."""
MAX_WORDS = 256 * 1024
MAX_INLINE = 64 * 1024
_MAX_LINE = 32
"""Bytes of a line that announces a length."""

_ARRAY = ord("*")
_LENGTH = re.compile(rb"-?(?:0|[1-9][0-9]{0,18})")


class ProtocolError(Exception):
    """Input that violates the protocol; the rest of the stream cannot be parsed."""


class Requests:
    """The parser of one connection."""

    def __init__(self) -> None:
        self._reader = hiredis.Reader()
        self._whole = 0
        """Number of complete requests in the reader."""
        self._buffer = bytearray()
        """Received bytes that are not in the reader. The first request begins at 0."""
        self._at = 0
        """Position up to which the buffer has been checked."""
        self._words: int | None = None
        """Words of the request that are still missing; None before its first line."""
        self._error: ProtocolError | None = None

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        if self._error is None:
            self._buffer += data

    def next(self) -> list[bytes] | None:
        """The next request (never empty); None if it is incomplete.

        Raises `ProtocolError` after all requests before the error have been returned.
        """
        while True:
            if self._whole:
                self._whole -= 1
                request: list[bytes] = self._reader.gets()
                return request
            if self._error is not None:
                raise self._error
            try:
                if self._inline_next():
                    line = self._inline()
                    if line is None or line:
                        return line
                    continue
                self._feed_reader()
            except ProtocolError as error:
                self._error = error
            if not self._whole and self._error is None and not self._inline_next():
                return None

    def _inline_next(self) -> bool:
        return self._words is None and bool(self._buffer) and self._buffer[0] != _ARRAY

    def _inline(self) -> list[bytes] | None:
        """The words of the line at the beginning of the buffer; None if it is incomplete."""
        end = self._buffer.find(b"\n", self._at)
        if max(end, len(self._buffer) if end < 0 else 0) > MAX_INLINE:
            raise ProtocolError("too big inline request")
        if end < 0:
            self._at = len(self._buffer)
            return None
        words = words_of(bytes(self._buffer[:end]))
        del self._buffer[: end + 1]
        self._at = 0
        if words is None:
            raise ProtocolError("unbalanced quotes in request")
        return words

    def _feed_reader(self) -> None:
        """Passes complete requests to the reader, up to an inline command or an error."""
        start = 0
        try:
            while (end := self._end_of_request(start)) is not None:
                if end > start:
                    self._reader.feed(bytes(self._buffer[start:end]))
                    self._whole += 1
                start = self._at
                if start < len(self._buffer) and self._buffer[start] != _ARRAY:
                    break
        finally:
            del self._buffer[:start]
            self._at -= start

    def _end_of_request(self, start: int) -> int | None:
        """The end of the request that begins at `start`; `start` if the request is empty; None if
        it is incomplete.
        """
        if self._words is None:
            words = self._length(b"*", "invalid multibulk length", MAX_WORDS)
            if words is None:
                return None
            if words <= 0:
                return start
            self._words = words
        while self._words:
            head = self._at
            size = self._length(b"$", "invalid bulk length", MAX_WORD)
            if size is None:
                return None
            if size < 0:
                raise ProtocolError("invalid bulk length")
            end = self._at + size
            if end + 2 - start > MAX_REQUEST:
                raise ProtocolError(f"a request may have {MAX_REQUEST} bytes")
            if end + 2 > len(self._buffer):
                # This length is parsed again when more bytes arrive: one length per arrival.
                self._at = head
                return None
            if self._buffer[end : end + 2] != b"\r\n":
                raise ProtocolError("a bulk string is longer than announced")
            self._at = end + 2
            self._words -= 1
        self._words = None
        return self._at

    def _length(self, prefix: bytes, invalid: str, maximum: int) -> int | None:
        """Parses and skips a line such as `$5`; None if it is incomplete."""
        first = self._buffer[self._at : self._at + 1]
        if not first:
            return None
        if first != prefix:
            raise ProtocolError(f"expected '{prefix.decode()}', got {shown(bytes(first))}")
        end = self._buffer.find(b"\r\n", self._at, self._at + _MAX_LINE)
        if end < 0:
            if len(self._buffer) - self._at >= _MAX_LINE:
                raise ProtocolError(invalid)
            return None
        text = bytes(self._buffer[self._at + 1 : end])
        if _LENGTH.fullmatch(text) is None or int(text) > maximum:
            raise ProtocolError(invalid)
        self._at = end + 2
        return int(text)
