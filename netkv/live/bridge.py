"""Cables between the nodes of a rack and the ports of a switch that is not netkv's own.

A node sends and receives frames as UDP datagrams on loopback (`cabling`). The bridge has the
switch's end of each cable and passes frames to and from the real port, its *far end*: bmv2's packet
stream, or a network interface. A link's impairments happen here, as they happen at the port of
netkv's own switch.

One thread moves all frames. Every queue is limited: sockets by their buffers, a packet stream by
`packet_stream.MAX_WAITING`, late frames by `MAX_LATE`.
"""

from __future__ import annotations

import heapq
import itertools
import random
import selectors
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol

from netkv._engine import corrupted_frame

Direction = str
"""`to` or `from` the host at the cable's end."""

MAX_LATE = 65_536
"""Maximum of frames that impaired links delay, over all links."""
_OF_PORT = ("received", "received_bytes", "sent", "sent_bytes")
_LINKS = ("links_lost", "links_duplicated", "links_corrupted", "links_delayed", "links_dropped")
_OF_ALL = ("malformed", "unrouted", "send_drops", *_LINKS)
MIN_FRAME, MAX_FRAME = 14, 2048
"""Bytes of a frame: an Ethernet header, and what netkv's own switch takes."""
_BATCH = 64
"""Maximum of frames that are read from a socket before the next one."""
_BUFFER = 4 * 1024 * 1024
_IDLE_S = 0.05
"""Maximum seconds between two checks of far ends that are not connected."""


class FarEnd(Protocol):
    """One or more ports of a switch. The bridge's thread calls all methods."""

    def watched(self) -> tuple[socket.socket, bool] | None:
        """The socket to wait for, and whether output is pending; None: not connected."""

    def receive(self) -> Iterable[tuple[int, bytes]]:
        """(port, frame) of the frames that have left the switch; never blocks."""

    def send(self, port: int, frame: bytes) -> bool:
        """Sends a frame to the switch's port; False if there was no room."""

    def flush(self) -> None:
        """Writes pending output without blocking, or reconnects if not connected."""

    def close(self) -> None:
        """Closes the far end; no call follows."""

    def statistics(self) -> Mapping[str, int]:
        """Additional counters, by name."""


class Arrival(NamedTuple):
    """A copy of a frame that arrives."""

    delay: float
    """Seconds."""
    corrupted: bool


@dataclass(frozen=True)
class Impairment:
    """Impairments of one direction of a link, as `engine/rack/src/impair.rs` defines them.

    Probabilities, and seconds.
    """

    loss: float = 0.0
    duplicate: float = 0.0
    corrupt: float = 0.0
    reorder: float = 0.0
    delay: float = 0.0
    jitter: float = 0.0
    reorder_span: float = 0.001

    def fate(self, chance: random.Random) -> list[Arrival]:
        """Each copy of a frame that arrives; empty if the frame is lost."""
        if chance.random() < self.loss:
            return []
        copies = 2 if chance.random() < self.duplicate else 1
        return [
            Arrival(self._copy_delay(chance), self.corrupt > 0 and chance.random() < self.corrupt)
            for _ in range(copies)
        ]

    def _copy_delay(self, chance: random.Random) -> float:
        delay = self.delay + chance.random() * self.jitter
        reordered = chance.random() < self.reorder
        return delay + chance.random() * self.reorder_span if reordered else delay


class Bridge:
    """The cables of one switch."""

    def __init__(
        self,
        cables: Sequence[tuple[int, str, str]],
        far_ends: Mapping[int, FarEnd],
        seed: int,
        died: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`cables`: port, address to bind, address of the node at the other end. `far_ends`:
        by port. `died` returns the reason if the switch has ended, else None.

        Raises OSError if an address is in use.
        """
        self._ends = list({id(end): end for end in far_ends.values()}.values())
        self._far_ends = dict(far_ends)
        self._died = died
        self._sockets: dict[int, socket.socket] = {}
        self._impairments: dict[tuple[int, Direction], Impairment] = {}
        self._chance = random.Random(seed)
        self._late: list[tuple[float, int, int, Direction, bytes]] = []
        self._order = itertools.count()
        self._counts: Counter[str] = Counter()
        self._port_counts = {port: Counter(dict.fromkeys(_OF_PORT, 0)) for port, _, _ in cables}
        self._failure: str | None = None
        self._stop = threading.Event()
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        try:
            for port, bind, peer in cables:
                self._sockets[port] = _cable(bind, peer)
        except BaseException:
            self._close()
            raise
        self._thread = threading.Thread(target=self._run, name="bridge", daemon=True)

    def start(self) -> None:
        """Starts to forward frames."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and closes everything."""
        self._stop.set()
        self._wake.send(b"\0")
        self._thread.join()

    def impair(self, port: int, direction: Direction, impairment: Mapping[str, float]) -> None:
        """Sets the impairments of a link in one direction; they replace the previous ones.

        Raises ValueError for a port or a name that does not exist.
        """
        if port not in self._sockets:
            raise ValueError(f"there is no cable at port {port}")
        names = [field.name for field in fields(Impairment)]
        if unknown := [name for name in impairment if name not in names]:
            raise ValueError(f"'{unknown[0]}' is no impairment of a link: {', '.join(names)}")
        wanted = Impairment(**impairment)
        if wanted == Impairment(reorder_span=wanted.reorder_span):
            self._impairments.pop((port, direction), None)
        else:
            self._impairments[port, direction] = wanted

    def failure(self) -> str | None:
        """Why frames are no longer forwarded; None while they are."""
        return self._failure or self._died()

    def statistics(self) -> dict[str, int]:
        """Counters since the start, named as those of netkv's own switch, and those of far ends."""
        ports = self._port_counts.values()
        counts = {name: sum(each[name] for each in ports) for name in _OF_PORT}
        counts |= {name: self._counts[name] for name in _OF_ALL}
        for end in self._ends:
            for name, count in end.statistics().items():
                counts[name] = counts.get(name, 0) + count
        return counts

    def port_statistics(self) -> dict[int, dict[str, int]]:
        """Frames and bytes of each port since the start, as `SwitchNode.port_statistics`."""
        return {port: dict(counts) for port, counts in self._port_counts.items()}

    # ------------------------------------------------------------------------ the bridge's thread

    def _run(self) -> None:
        try:
            self._selector.register(self._woken, selectors.EVENT_READ)
            for port, cable in self._sockets.items():
                self._selector.register(cable, selectors.EVENT_READ, port)
            watched: dict[int, tuple[socket.socket, int]] = {}
            while not self._stop.is_set():
                self._watch(watched)
                for key, events in self._selector.select(self._select_timeout()):
                    if key.fileobj is self._woken:
                        continue
                    if isinstance(key.data, int):
                        self._from_host(key.data)
                    elif events & selectors.EVENT_READ:
                        self._from_switch(key.data)
                self._release()
                for end in self._ends:
                    end.flush()
        except Exception as error:
            self._failure = f"the bridge to the switch's ports failed: {error!r}"
            raise
        finally:
            self._close()

    def _watch(self, watched: dict[int, tuple[socket.socket, int]]) -> None:
        """Registers the current sockets of the far ends, and the events to wait for."""
        for number, end in enumerate(self._ends):
            wanted = end.watched()
            before = watched.get(number)
            if wanted is None:
                now = None
            else:
                writes = selectors.EVENT_WRITE if wanted[1] else 0
                now = (wanted[0], selectors.EVENT_READ | writes)
            if now == before:
                continue
            if before is not None and (now is None or now[0] is not before[0]):
                # The far end may have closed this socket, which then has no descriptor.
                self._selector.unregister(before[0])
                before = None
            if now is None:
                del watched[number]
                continue
            if before is None:
                self._selector.register(now[0], now[1], end)
            else:
                self._selector.modify(now[0], now[1], end)
            watched[number] = now

    def _select_timeout(self) -> float:
        rest = self._late[0][0] - time.monotonic() if self._late else _IDLE_S
        return min(max(rest, 0.0), _IDLE_S)

    def _from_host(self, port: int) -> None:
        cable = self._sockets[port]
        for _ in range(_BATCH):
            try:
                frame = cable.recv(MAX_FRAME + 1)
            except BlockingIOError:
                return
            except ConnectionRefusedError:
                # The node at the other end is down.
                self._counts["send_drops"] += 1
                continue
            self._pass(port, "from", frame)

    def _from_switch(self, end: FarEnd) -> None:
        for port, frame in end.receive():
            if port in self._sockets:
                self._pass(port, "to", frame)
            else:
                self._counts["unrouted"] += 1

    def _pass(self, port: int, direction: Direction, frame: bytes) -> None:
        if not MIN_FRAME <= len(frame) <= MAX_FRAME:
            self._counts["malformed"] += 1
            return
        impairment = self._impairments.get((port, direction))
        if impairment is None:
            self._deliver(port, direction, frame)
            return
        arrivals = impairment.fate(self._chance)
        self._counts["links_lost"] += not arrivals
        self._counts["links_duplicated"] += len(arrivals) > 1
        for delay, corrupted in arrivals:
            self._counts["links_corrupted"] += corrupted
            copy = corrupted_frame(frame, self._chance.getrandbits(64)) if corrupted else frame
            if delay == 0:
                self._deliver(port, direction, copy)
            elif len(self._late) < MAX_LATE:
                self._counts["links_delayed"] += 1
                due = time.monotonic() + delay
                heapq.heappush(self._late, (due, next(self._order), port, direction, copy))
            else:
                self._counts["links_dropped"] += 1

    def _release(self) -> None:
        while self._late and self._late[0][0] <= time.monotonic():
            _, _, port, direction, frame = heapq.heappop(self._late)
            self._deliver(port, direction, frame)

    def _deliver(self, port: int, direction: Direction, frame: bytes) -> None:
        if direction == "from":
            if self._far_ends[port].send(port, frame):
                self._port_counts[port]["received"] += 1
                self._port_counts[port]["received_bytes"] += len(frame)
            return
        try:
            self._sockets[port].send(frame)
            self._port_counts[port]["sent"] += 1
            self._port_counts[port]["sent_bytes"] += len(frame)
        except (BlockingIOError, ConnectionRefusedError):
            self._counts["send_drops"] += 1

    def _close(self) -> None:
        self._selector.close()
        for end in self._ends:
            end.close()
        for each in (*self._sockets.values(), self._wake, self._woken):
            each.close()


def _cable(bind: str, peer: str) -> socket.socket:
    """The switch's end of a cable; the kernel drops datagrams that are not from the peer."""
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            end.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
        end.setblocking(False)
        end.bind(_address(bind))
        end.connect(_address(peer))
    except BaseException:
        end.close()
        raise
    return end


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)
