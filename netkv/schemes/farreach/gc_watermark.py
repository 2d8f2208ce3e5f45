"""The GC watermark: when servers may drop tombstones (message WATERMARK)."""

# Callbacks have the parameters of their type, whether they use them or not.
# ruff: noqa: ARG005

from collections.abc import Callable, Iterator

from netkv.control.base import Action, Nanoseconds
from netkv.kits.write_back.context import Context, to_server
from netkv.model.messages import Op
from netkv.model.topology import KEY_BYTES
from netkv.schemes.farreach.snapshot import Taken


class GcWatermark:
    """Sends the watermark to the servers.

    Rules
    -----
    1. WATERMARK means: clients and switch have no record older than the snapshot in force. A server
       drops a tombstone some WATERMARKs after its creation, and not before it is ten minutes old.
    2. WATERMARK is sent when all present clients have answered the RELEASE of a snapshot that was
       taken since the last WATERMARK.
    3. It is also delayed while the snapshot has a *doubtful* record that the previous snapshot had,
       too. Doubtful means: dirty, and either not the latest or being evicted. Such a record may be
       older than a tombstone. No request has replaced it since the previous snapshot, so its entry
       is evicted.
    """

    def __init__(
        self, context: Context, clients: Callable[[], list[int]], evict: Callable[[int], None]
    ) -> None:
        """`clients` returns the present clients; `evict` evicts the entry of a generation."""
        self._context = context
        self._clients = clients
        self._evict = evict
        self.restart(0)

    def restart(self, now: Nanoseconds) -> None:
        """Begin again: earlier snapshots and answers do not count."""
        self._since = now
        self._previous: frozenset[tuple[int, int, int]] | None = None
        self._clean = False
        self._released: set[int] = set()

    def taken(self, taken: Taken) -> None:
        """A snapshot is in force."""
        dirty = taken.dirty()
        if self._previous is not None and taken.point >= self._since:
            old = taken.doubtful & self._previous
            self._clean = not old
            for generation, _, _ in sorted(old):
                self._evict(generation)
        self._previous = dirty

    def on_release_answered(self, address: int, point: Nanoseconds) -> None:
        """A client has answered the RELEASE of the snapshot with this point."""
        if point >= self._since:
            self._released.add(address)

    def send_if_due(self, now: Nanoseconds) -> Iterator[Action]:
        """Send WATERMARK to all servers, if rules 2 and 3 allow it."""
        if self._clean and self._released.issuperset(self._clients()):
            self._since = now
            self._clean = False
            self._released.clear()
            self._context.counts["watermarks"] += 1
            for server in self._context.topology.servers:
                self._context.pending.send(
                    Op.WATERMARK,
                    bytes(KEY_BYTES),
                    lambda now, reply: iter(()),
                    to=to_server(server),
                )
        return iter(())
