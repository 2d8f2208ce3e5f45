"""Digest lists: batching, acknowledgement and suppression (section 9.8), without I/O.

Rules
-----
1. A list is sent when it has `max_list_size` digests (0: no limit but `LIST_LIMIT`) or when its
   first digest is `max_timeout_ns` old (0: at once).
2. The digests of a list are distinct. A digest that was sent and is not acknowledged is not sent
   again until its list is acknowledged or `ack_timeout_ns` has passed (0: it is sent again).
3. List ids count from 1 per digest and are not used again before 2**64.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from finsy.proto import p4d, p4r

from netkv.p4rt import values
from netkv.p4rt.schema import Digest

LIST_LIMIT = 10_000
"""Digests in one list when the controller sets no limit."""

SENT_LIMIT = 1000
"""Maximum of unacknowledged lists; beyond it the oldest counts as timed out."""

Members = tuple[bytes, ...]


class DigestBatcher:
    """The lists of one digest with one configuration. Times are nanoseconds of one clock."""

    def __init__(self, digest: Digest, config: p4r.DigestEntry.Config) -> None:
        self.config = config
        self._digest = digest
        self._waiting: dict[Members, None] = {}
        """The digests of the next list, in the order of arrival."""
        self._oldest = 0
        self._last_list = 0
        self._unacknowledged: dict[Members, int] = {}
        """Digest -> the list that it was, or will be, sent in."""
        self._sent: deque[tuple[int, int, list[Members]]] = deque()
        """(time, list id, digests) of lists that suppress their digests; oldest first."""

    def add(self, now: int, members: list[bytes]) -> Iterator[p4r.DigestList]:
        """Adds a digest of the data plane; yields the list if it is full now."""
        self._expire(now)
        key = tuple(map(values.canonical, members))
        if key in self._waiting or key in self._unacknowledged:
            return
        if not self._waiting:
            self._oldest = now
        self._waiting[key] = None
        if self._suppresses:
            self._unacknowledged[key] = self._last_list + 1
        if len(self._waiting) >= (self.config.max_list_size or LIST_LIMIT):
            yield self._flush(now)

    def poll(self, now: int) -> Iterator[p4r.DigestList]:
        """Yields the pending list if its timeout has passed."""
        if self._waiting and now >= self._oldest + self.config.max_timeout_ns:
            yield self._flush(now)

    @property
    def deadline(self) -> int | None:
        """When to call `poll`; None if no digest is pending."""
        return self._oldest + self.config.max_timeout_ns if self._waiting else None

    def acknowledge(self, list_id: int) -> None:
        """Handles an acknowledgement: the digests may be sent again. Unknown ids have no effect."""
        for at, (_, number, digests) in enumerate(self._sent):
            if number == list_id:
                self._release(number, digests)
                del self._sent[at]
                return

    @property
    def _suppresses(self) -> bool:
        return self.config.ack_timeout_ns > 0

    def _flush(self, now: int) -> p4r.DigestList:
        digests, self._waiting = list(self._waiting), {}
        self._last_list += 1
        if self._suppresses:
            self._sent.append((now, self._last_list, digests))
            if len(self._sent) > SENT_LIMIT:
                self._forget_oldest()
        return p4r.DigestList(
            digest_id=self._digest.id, list_id=self._last_list, data=map(self._data, digests)
        )

    def _expire(self, now: int) -> None:
        while self._sent and now >= self._sent[0][0] + self.config.ack_timeout_ns:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        _, number, digests = self._sent.popleft()
        self._release(number, digests)

    def _release(self, number: int, digests: list[Members]) -> None:
        for each in digests:
            if self._unacknowledged.get(each) == number:
                del self._unacknowledged[each]

    def _data(self, digest: Members) -> p4d.P4Data:
        members = [p4d.P4Data(bitstring=each) for each in digest]
        match self._digest.form:
            case "struct":
                return p4d.P4Data(struct=p4d.P4StructLike(members=members))
            case "tuple":
                return p4d.P4Data(tuple=p4d.P4StructLike(members=members))
            case "scalar":
                return members[0]
