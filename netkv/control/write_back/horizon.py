"""When servers may forget that keys were deleted (HORIZON)."""

# What follows from an answer takes what there is to know, needed or not.
# ruff: noqa: ARG005

from collections.abc import Callable, Iterator

from netkv.control.base import Action, Nanoseconds
from netkv.control.messages import Op
from netkv.control.topology import KEY_BYTES
from netkv.control.write_back.shared import Shared, to_server
from netkv.control.write_back.snapshot import Taken

ROUNDS = 4
"""RELEASEs after which no client keeps anything from before the first of them."""


class Horizon:
    """HORIZONs to the servers.

    Rules
    -----
    1. A server drops a tombstone that it had before the HORIZON before this one (and that is ten
       minutes old, so that nobody waits for an answer about it any more). So between the two
       everything older must have gone: from the snapshot in force, from clients and switch.
    2. From the clients it has gone when each has heard `ROUNDS` RELEASEs of snapshots that were
       taken since then.
    3. From the switch it has gone when no record is *doubtful* that was there before: dirty, and
       either no longer the latest, or being evicted. Only what was there at the first snapshot
       since then can be older than those tombstones. Nobody has asked for such a record for as
       long; it is evicted.
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
        """From now on everything must go again."""
        self._since = now
        self._before: frozenset[tuple[int, int, int]] | None = None
        self._clean = False
        self._heard: dict[int, int] = {}

    def taken(self, taken: Taken) -> None:
        """A snapshot is in force."""
        if taken.point < self._since:
            return
        if self._before is None:
            self._before = taken.dirty()
            return
        old = taken.doubtful & self._before
        self._clean = not old
        for generation, _, _ in sorted(old):
            self._evict(generation)

    def heard(self, address: int, point: Nanoseconds) -> None:
        """A client has heard the RELEASE of the snapshot with this point."""
        if point >= self._since:
            self._heard[address] = self._heard.get(address, 0) + 1

    def look(self, now: Nanoseconds) -> Iterator[Action]:
        """Tell the servers, if it is time."""
        clients = self._clients()
        if self._clean and all(self._heard.get(each, 0) >= ROUNDS for each in clients):
            self.restart(now)
            self._shared.counts["horizons"] += 1
            for server in self._shared.topology.servers:
                self._shared.questions.ask(
                    Op.HORIZON, bytes(KEY_BYTES), lambda now, reply: iter(()), to=to_server(server)
                )
        return iter(())
