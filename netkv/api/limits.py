"""The limits of the server, each with its reason. A request beyond a limit gets a problem document.

Limits of queues are beside them: `jobs.queue.MAX_QUEUED`, `feed.MAX_SUBSCRIBERS`, `feed.QUEUE`.
"""

from __future__ import annotations

MAX_BODY = 2 * 1024 * 1024
"""Bytes of the body of a request (413). The largest bodies are own scenarios (`ScenarioRequest`,
200,000 characters, which are up to 1.2 MB if JSON escapes each) and P4 programs."""
BODY_SECONDS = 30.0
"""Time for a whole body (408). A client that sends a byte a minute must not hold a request; 2 MiB
in 30 s is 70 KB/s, which every link of a laboratory has."""
HEADER_SECONDS = 15.0
"""Time from the opening of a connection, or from the first byte of a later request, to the end of
the header; then the connection is closed. The HTTP server itself has no such limit."""
MAX_HEADER = 128 * 1024
"""Bytes of request line and headers (400). 500 ids of runs in a query (`parameters.RunIds`) have
at most 53 KB, the conditions and tags of `GET /runs` 20 KB."""
KEEP_ALIVE_SECONDS = 5
"""Time for which an idle connection stays open."""
DRAIN_SECONDS = 1.0
"""Time for which the rest of a refused body is read, so that the client gets to read the answer:
a connection that is closed with unread data is reset."""

MAX_REQUESTS = 320
"""Requests at a time (503): 200 event streams, 50 that wait for jobs, and 70 short ones."""
MAX_CONNECTIONS = 512
"""Connections at a time (503 of the HTTP server): those of `MAX_REQUESTS`, and idle ones, of which
a browser keeps up to six."""
MAX_WAITING = 50
"""Requests with `wait` at a time (429): each reads its job several times a second."""
MAX_WAIT_SECONDS = 300.0
"""Longest `wait` of a request."""

MAX_WAITING_CHECKS = 16
"""Checks of scenarios that wait for one of two processes (429). Each occupies one of the 40 threads
of the HTTP server; 8 more wait for P4 programs, so that others always find a thread."""
MAX_JSON_DEPTH = 64
"""Objects and lists of a body within each other (422). Parsers and models recurse."""

LOGIN_ATTEMPTS = 10
"""Wrong tokens in the form of `/login` for each address in `LOGIN_WINDOW_SECONDS` (429)."""
LOGIN_WINDOW_SECONDS = 60.0
LOGIN_DELAY_SECONDS = 0.5
"""Time until the answer to a wrong token."""
LOGIN_BODY = 4096
"""Bytes of the form of `/login`."""
LOGIN_ADDRESSES = 1024
"""Addresses whose wrong attempts are remembered; the oldest are forgotten."""
