"""Bodies of requests: limits of their size and of their time.

A body is read before the application sees the request, so that no route can forget a limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from netkv.api.limits import DRAIN_SECONDS


class TooLargeError(Exception):
    """The body has more bytes than permitted."""


_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {**dict.fromkeys(b"[{", 1), **dict.fromkeys(b"]}", -1)}


def nested_too_deeply(body: bytes, most: int) -> bool:
    """Whether a JSON document has more than `most` levels of objects and lists.

    It is checked before a parser sees the document: parsers recurse.
    """
    brackets = _TEXT.sub(b"", body).translate(None, _NOT_BRACKETS)
    depths = itertools.accumulate(map(_STEP.__getitem__, brackets))
    return any(depth > most for depth in depths)


class Body:
    """The body of one request."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._complete = False
        self._read: bytes | None = None
        """What `read` has read, until the application gets it."""

    async def read(self, declared: str | None, most: int, seconds: float) -> bytes:
        """All of it. `declared` is the Content-Length; without one the bytes are counted.

        Raises `TooLargeError`, `TimeoutError`, or `ConnectionError` if the client has gone.
        """
        if declared is not None and declared.isdecimal() and int(declared) > most:
            raise TooLargeError
        found = bytearray()
        async with asyncio.timeout(seconds):
            while not self._complete:
                found += await self._part()
                if len(found) > most:
                    raise TooLargeError
        self._read = bytes(found)
        return self._read

    async def receive_again(self) -> Message:
        """`receive` for the application, after `read`."""
        if self._read is None:
            return await self._receive()
        body, self._read = self._read, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def refuse(self, response: Response, scope: Scope, send: Send) -> None:
        """Sends an answer without the whole body, then reads the rest of it for a moment."""
        if self._complete:
            await response(scope, self._receive, send)
            return

        async def send_and_drain(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
                return
            await send({**message, "more_body": True})
            with contextlib.suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    while not self._complete:
                        await self._part()
            await send({"type": "http.response.body", "body": b""})

        response.headers["connection"] = "close"
        await response(scope, self._receive, send_and_drain)

    async def _part(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        self._complete = not message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part
