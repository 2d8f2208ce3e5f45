"""When servers may forget that keys were deleted (HORIZON)."""

# What follows from an answer takes what there is to know, needed or not.
# ruff: noqa: ARG005

from collections.abc import Callable, Iterator

from netkv.control.base import Action, Nanoseconds
from netkv.control.messages import Op
from netkv.control.topology import KEY_BYTES
from netkv.schemes.farreach.context import Shared, to_server
from netkv.schemes.farreach.snapshot import Taken


class GcWatermark:
    """HORIZONs to the servers.

    Rules
    -----
    1. A server drops a tombstone some HORIZONs after it was made, and not before it is ten minutes
       old: then nobody waits for an answer about it any more. What a HORIZON says is that nothing
       older than the snapshot in force is left with the clients, nor, for good, in the switch.
    2. So it comes when all clients that are there have heard the RELEASE of a snapshot that was
       taken since the last HORIZON.
    3. And when no record is *doubtful* that was in the snapshot before already: dirty, and either
       no longer the latest, or being evicted. It may be older than a tombstone. Nobody has asked
       for it all the while, or it would have been replaced: it is evicted.
    """

    def __init__(
        self, shared: Shared, clients: Callable[[], list[int]], evict: Callable[[int], None]
    ) -> None:
        """`clients` tells who is there; `evict` takes the generation of an entry."""
        self._shared = shared
        self._clients = clients
        self._evict = evict
        self.restart(0)

    def restart(self, now: Nanoseconds) -> None:
        """Nothing counts that was before."""
        self._since = now
        self._before: frozenset[tuple[int, int, int]] | None = None
        self._clean = False
        self._heard: set[int] = set()

    def taken(self, taken: Taken) -> None:
        """A snapshot is in force."""
        dirty = taken.dirty()
        if self._before is not None and taken.point >= self._since:
            old = taken.doubtful & self._before
            self._clean = not old
            for generation, _, _ in sorted(old):
                self._evict(generation)
        self._before = dirty

    def heard(self, address: int, point: Nanoseconds) -> None:
        """A client has heard the RELEASE of the snapshot with this point."""
        if point >= self._since:
            self._heard.add(address)

    def look(self, now: Nanoseconds) -> Iterator[Action]:
        """Tell the servers, if it is time."""
        if self._clean and self._heard.issuperset(self._clients()):
            self._since = now
            self._clean = False
            self._heard.clear()
            self._shared.counts["horizons"] += 1
            for server in self._shared.topology.servers:
                self._shared.questions.ask(
                    Op.HORIZON, bytes(KEY_BYTES), lambda now, reply: iter(()), to=to_server(server)
                )
        return iter(())
