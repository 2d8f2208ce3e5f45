"""Chains of DistReach's switches under random frames, losses, copies, crashes and recoveries.

Every history of every key must be linearizable, and nothing that was acknowledged may be lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import pytest

from netkv.model.messages import Message, Op, Stamp, Status
from netkv.model.topology import server_ip
from tests.p4programs.defects import Patch
from tests.schemes.distreach.programs.chain import CLIENTS, Chain, Frame

KEYS = [number.to_bytes(16) for number in range(1, 5)]
NEVER = 1 << 60


@dataclass
class Operation:
    """An operation of a client; the times are steps of the test."""

    key: bytes
    value: bytes | None
    began: int
    ended: int = NEVER


@dataclass
class Client:
    """Sends one request at a time, and repeats it until it is answered."""

    number: int
    incarnation: int = 0
    request: int = 0
    waiting: Message | None = None
    operation: Operation | None = None


@dataclass
class Histories:
    """What clients have written and read."""

    writes: dict[bytes, Operation] = field(default_factory=dict)
    reads: list[Operation] = field(default_factory=list)

    def check(self) -> None:
        """Each key is a register (zones of Gibbons and Korach); writes have unique values."""
        zones: dict[bytes, list[tuple[int, int]]] = defaultdict(list)
        clusters: dict[tuple[bytes, bytes | None], list[Operation]] = defaultdict(list)
        for read in self.reads:
            if read.value is not None:
                write = self.writes[read.value]
                assert write.key == read.key
                assert write.began < read.ended, "a value was read before it was written"
            clusters[read.key, read.value].append(read)
        for value, write in self.writes.items():
            if write.ended != NEVER or (write.key, value) in clusters:
                clusters[write.key, value].append(write)
        for key in {key for key, _ in clusters}:
            # Before the first write a key is absent.
            clusters[key, None].append(Operation(key, None, -1, -1))
        for (key, _), operations in clusters.items():
            zones[key].append(
                (min(each.ended for each in operations), max(each.began for each in operations))
            )
        for key, of_key in zones.items():
            forward = sorted(zone for zone in of_key if zone[0] < zone[1])
            for one, two in pairwise(forward):
                assert one[1] < two[0], f"two values of {key.hex()} alternate"
            for low, high in of_key:
                if low >= high:
                    inside = any(first < high and low < last for first, last in forward)
                    assert not inside, f"a value of {key.hex()} came between reads of another"


class Run:
    """Clients, a chain, and a controller that does one thing after another."""

    def __init__(self, length: int, seed: int, defects: tuple[Patch | None, Patch | None]) -> None:
        self.random = Random(seed)
        self.chain = Chain.of(length, *defects)
        self.chain.requests_to = server_ip(0)
        self.clients = [Client(number) for number in range(1, CLIENTS + 1)]
        self.histories = Histories()
        self.now = 0
        self.values = 0
        self.work: Iterator[str] = iter(())
        self.recovering = False
        self.lost = False
        """Whether a switch is down that no recovery has dealt with."""
        self.recoveries = 0

    def step(self, *, quiet: bool = False) -> None:
        """Something happens; `quiet`: no faults and no new requests."""
        self.now += 1
        draw = self.random.random()
        if draw < 0.12:
            self.controller_acts(quiet=quiet)
        elif draw < 0.1205 and not quiet:
            self.switch_fails()
        elif draw < 0.25 or not self.chain.frames:
            self.client_acts(quiet=quiet)
        else:
            self.frame_moves(quiet=quiet)

    def client_acts(self, *, quiet: bool) -> None:
        client = self.random.choice(self.clients)
        if client.waiting is None:
            if quiet:
                return
            self.new_request(client)
        elif self.chain.frames and self.random.random() < 0.8:
            return  # it repeats a request seldom
        assert client.waiting is not None
        self.chain.send(client.waiting)

    def new_request(self, client: Client) -> None:
        client.request += 1
        key = self.random.choice(KEYS)
        stamp = Stamp(client.incarnation)
        client.operation = Operation(key, None, self.now)
        if self.random.random() < 0.5:
            client.waiting = Message(Op.GET, key, client.request, client.number, stamp=stamp)
            return
        self.values += 1
        length = self.random.choice([8, 16, 100, 200])
        client.operation.value = value = self.values.to_bytes(8) + bytes(length - 8)
        self.histories.writes[value] = client.operation
        client.waiting = Message(
            Op.PUT, key, client.request, client.number, stamp=stamp, length=length, value=value
        )

    def frame_moves(self, *, quiet: bool) -> None:
        frames = self.chain.frames
        # Mostly in order; sometimes a frame waits for long.
        late = self.random.random() < 0.2
        frame = frames.pop(self.random.randrange(len(frames)) if late else 0)
        if not quiet:
            draw = self.random.random()
            if draw < 0.03:
                return
            if draw < 0.06:
                frames.append(Frame(frame.to, frame.port, frame.data))
        for message in self.chain.deliver(frame):
            self.answered(message)

    def answered(self, message: Message) -> None:
        client = self.clients[message.sender - 1]
        if message.stamp is not None:
            client.incarnation = max(client.incarnation, message.stamp.incarnation)
        waiting, operation = client.waiting, client.operation
        if waiting is None or message.request != waiting.request:
            return
        assert operation is not None
        client.waiting = None
        if message.status is Status.UNKNOWN:
            assert waiting.op is Op.PUT
            client.incarnation = max(client.incarnation, self.chain.number)
            return
        operation.ended = self.now
        if waiting.op is Op.GET:
            found = message.status is Status.OK
            operation.value = message.value[: message.length] if found else None
            self.histories.reads.append(operation)

    def switch_fails(self) -> None:
        place = self.random.choice(self.chain.live)
        if self.chain.tolerates(place):
            self.chain.crash(place)
            self.lost = True
            self.reroute()

    def reroute(self) -> None:
        """Requests take another way, on which some switches of the chain may be missing."""
        above = range(len(self.chain.switches) - 1)
        self.chain.bypassed = {place for place in above if self.random.random() < 0.5}

    def controller_acts(self, *, quiet: bool) -> None:
        if self.lost:
            # A recovery begins again if another switch fails meanwhile.
            self.lost = False
            self.recoveries += 1
            down = [n for n, switch in enumerate(self.chain.switches) if not switch.alive]
            stays = not quiet and self.random.random() < 0.3
            self.work = self.chain.recovering([] if stays else down)
            self.recovering = True
            return
        if next(self.work, None) is not None:
            return
        self.recovering = False
        whole = len(self.chain.live) == len(self.chain.switches)
        if whole:
            self.chain.bypassed.clear()
        else:
            if quiet or self.random.random() < 0.1:
                self.lost = True
            return
        if quiet:
            return
        if self.random.random() < 0.01:
            self.work = self.chain.raise_incarnation()
            return
        key = self.random.choice(KEYS)
        if key in self.chain.tail.lookup:
            if self.random.random() < 0.1:
                self.work = self.chain.evicting(key)
        else:
            self.work = self.chain.admitting(key, KEYS.index(key))

    def finish(self) -> None:
        """End what is under way, and read every key."""
        latest = self.now + 20_000
        while self.now < latest and (
            self.lost
            or self.recovering
            or len(self.chain.live) < len(self.chain.switches)
            or any(client.waiting for client in self.clients)
        ):
            self.step(quiet=True)
        assert self.now < latest, "something is stuck"
        for key in KEYS:
            client = self.clients[0]
            client.request += 1
            stamp = Stamp(client.incarnation)
            client.operation = Operation(key, None, self.now)
            client.waiting = Message(Op.GET, key, client.request, client.number, stamp=stamp)
            while client.waiting and self.now < latest:
                self.step(quiet=True)
            assert client.waiting is None, "a read is not answered"
        self.histories.check()


def run(length: int, seed: int, steps: int, *defects: Patch | None) -> Run:
    upper, tail = defects or (None, None)
    done = Run(length, seed, (upper, tail))
    for _ in range(steps):
        done.step()
    done.finish()
    return done


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_acknowledged_is_lost(length: int, seed: int) -> None:
    done = run(length, seed, 20_000)
    assert len(done.histories.reads) > 200
    acknowledged = [each for each in done.histories.writes.values() if each.ended != NEVER]
    assert len(acknowledged) > 200
    assert done.recoveries > 2 or length == 1


DEFECTS: dict[str, tuple[str, Patch]] = {
    "a spine stores nothing": (
        "upper",
        ("distreach/entry.p4", "meta.stores = meta.applied ||", "meta.stores ="),
    ),
    "frames from before a recovery count": (
        "tail",
        ("distreach/chain.p4", "meta.drop_reason = DROP_LATE;", ""),
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_random_runs_find_the_defect(name: str) -> None:
    where, defect = DEFECTS[name]
    upper, tail = (defect, None) if where == "upper" else (None, defect)
    for seed in range(40):
        try:
            run(2, seed, 10_000, upper, tail)
        except AssertionError:
            return
    pytest.fail(f"no seed finds: {name}")
