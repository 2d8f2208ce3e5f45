"""The HTTP protocol of the server: uvicorn's, with a time-out for headers."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from netkv.api import problems
from netkv.api.limits import DRAIN_SECONDS, HEADER_SECONDS


class Protocol(H11Protocol):
    """Closes a connection whose request does not arrive, and answers malformed ones in JSON."""

    _header_limit: asyncio.TimerHandle | None = None
    _refused = False
    """Whether a malformed request was answered; what comes behind it is not read as HTTP."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected: its first header must come."""
        super().connection_made(transport)
        self._expect_header()

    def data_received(self, data: bytes) -> None:
        """Bytes of the client have arrived."""
        if self._refused:
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._cancel_limit()
        elif self._header_limit is None and not self.transport.is_closing():
            # The beginning of a later request on the same connection.
            self._expect_header()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._cancel_limit()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answers what is not HTTP."""
        response = problems.document(400, msg, headers={"connection": "close"})
        head = h11.Response(status_code=400, headers=response.raw_headers, reason=b"Bad Request")
        body = bytes(response.body)
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self._refused = True
        # A connection that is closed with unread data is reset, and the answer is lost.
        self.loop.call_later(DRAIN_SECONDS, self.transport.close)

    def _unsupported_upgrade_warning(self) -> None:
        """A request to upgrade is answered without it; a client must not fill the log."""

    def _expect_header(self) -> None:
        self._header_limit = self.loop.call_later(HEADER_SECONDS, self._abort)

    def _cancel_limit(self) -> None:
        if self._header_limit is not None:
            self._header_limit.cancel()
            self._header_limit = None

    def _abort(self) -> None:
        self._header_limit = None
        if not self.transport.is_closing():
            self.transport.abort()
