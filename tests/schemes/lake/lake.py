"""LaKe between clients and a memcached: the RTL in virtual time, frame by frame.

`Lake` passes frames through the design. `Lab` has a model of memcached at the host port, and checks
every answer from the cache against the states that the server has had (`History`).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from netkv._engine import FpgaDesign
from netkv.kits.design_mutants import CHOICE, UNIT_BITS
from netkv.model import manifest
from tests.fpga.packets import Operation, frames, memcached

HOST = 4
DATAGRAM = 1400  # bytes of a reply in one datagram, as memcached cuts them
UNIT = 1 << UNIT_BITS  # cycles of the registers of times
LIFETIME = 32  # units that a packet may be on its way


@dataclass(frozen=True)
class Client:
    """A socket of a client, behind a network port."""

    number: int
    udp_port: int = 40000

    @property
    def lane(self) -> int:
        return self.number % HOST

    @property
    def ip(self) -> str:
        return f"10.0.0.{self.number + 1}"

    @property
    def mac(self) -> bytes:
        return bytes([2, 0, 0, 0, 0, self.number + 1])


CLIENT = Client(0)
OTHER = Client(1)


class Lake:
    """The design, its registers by name."""

    def __init__(
        self,
        library: Path,
        *,
        seed: int = 1,
        mutant: int = 0,
        header: bool = True,
        safe: bool = True,
    ) -> None:
        self.design = FpgaDesign(str(library), seed)
        self.registers = {
            name: address
            for register in (*manifest.find("lake").registers, CHOICE)
            for name, address in register.addresses()
        }
        self.header = header
        self._mutant = mutant
        self._options = header | safe << 1 | 1 << 2 | 1 << 3
        self.configure()

    def configure(self) -> None:
        """What software does after a reset."""
        for _ in range(100):
            if self.read("state") & 1:
                break
            self.design.step(1000)
        assert self.read("state") & 1, "the design does not become ready"
        self.write("mutant", self._mutant)
        self.write("options", self._options)
        # Replies and requests of these tests are on their way for fewer cycles.
        self.write("lifetime", LIFETIME)
        self.invalidate()

    def invalidate(self) -> None:
        """Nothing is stored, and everything may be."""
        self.write("command", 1)
        self.pass_lifetime()
        assert self.read("state") & 4, "nothing can be stored"

    def pass_lifetime(self) -> None:
        """No frame of the past is on its way any more."""
        # The guard table adds a margin of 16 units.
        self.design.step((LIFETIME + 18) * UNIT)

    def read(self, name: str) -> int:
        return self.design.read_register(self.registers[name])

    def write(self, name: str, value: int) -> None:
        self.design.write_register(self.registers[name], value)

    @property
    def chunks_in_use(self) -> int:
        return sum(self.read(f"chunks_in_use.{each}") for each in range(4))

    def pass_frames(self, inward: Iterable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Frames go in at their ports at once; those that come out, with their ports."""
        expected = 0
        for port, frame in inward:
            self.design.rx(port, frame)
            expected += 1
        out: list[tuple[int, bytes]] = []
        for _ in range(expected + 10):
            self.design.step(20_000, until_frame=True)
            out += [(port, frame) for port, frame, *_ in self.design.tx()]
            if len(out) >= expected:
                return out
        raise AssertionError(f"{len(out)} of {expected} frames came out")

    def pass_frame(self, port: int, frame: bytes) -> tuple[int, bytes]:
        (out,) = self.pass_frames([(port, frame)])
        return out


class History:
    """What the server has held at a key, and which of it a client may still see.

    A read may have the value of any state from the newest that somebody knows of: a state that a
    read returned, or that the server acknowledged. So a key is linearizable, with the order of the
    server.
    """

    def __init__(self) -> None:
        self.states: list[bytes | None] = [None]
        self.floor = 0

    def add(self, value: bytes | None) -> int:
        """The state now; its number."""
        if value != self.states[-1]:
            self.states.append(value)
        return len(self.states) - 1

    def know(self, state: int) -> None:
        self.floor = max(self.floor, state)

    def read(self, value: bytes | None, since: int) -> None:
        """A read that began when `since` was the floor has this result."""
        for state in range(since, len(self.states)):
            if self.states[state] == value:
                self.know(state)
                return
        seen = [state for state in range(since) if self.states[state] == value]
        verdict = f"stale: state {seen[-1]}, {since} was known" if seen else "never written"
        raise StaleError(f"{value!r} is {verdict}; states from there: {self.states[since:]}")


class StaleError(AssertionError):
    """A client got what it must not see."""


@dataclass
class Request:
    """A datagram of a client that LaKe has forwarded."""

    client: Client
    operations: tuple[Operation, ...]
    request_id: int
    sent: int  # cycle


@dataclass
class Reply:
    """A datagram of the server, and the states that it tells of."""

    client: Client
    frame: bytes
    states: list[tuple[bytes, int]]  # key, state
    sent: int  # cycle


class Lab:
    """Clients, LaKe, and a model of memcached. Only the host port knows the server."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.server = memcached.Server()
        self.histories: dict[bytes, History] = defaultdict(History)
        self.hits = 0
        self._request_ids = itertools.count(1)

    # ---- frames ------------------------------------------------------------------------------

    def frame(
        self,
        client: Client,
        payload: bytes,
        *,
        response: bool = False,
        request_id: int = 0,
        part: int = 0,
        parts: int = 1,
    ) -> bytes:
        head = b"".join(each.to_bytes(2, "big") for each in (request_id, part, parts, 0))
        return frames.udp_frame(
            (head if self.lake.header else b"") + payload,
            client=(client.ip, client.udp_port),
            client_mac=client.mac,
            response=response,
        )

    def operations_of(self, frame: bytes) -> list[Operation]:
        return memcached.decode(frame[50 if self.lake.header else 42 :])

    # ---- steps of a request ------------------------------------------------------------------

    def request(self, *operations: Operation, client: Client = CLIENT) -> Request | None:
        """A client sends operations. The request, if LaKe forwards it; checks an answer of LaKe."""
        (found,) = self.burst([(client, operations)])
        return found

    def burst(self, asked: Sequence[tuple[Client, tuple[Operation, ...]]]) -> list[Request | None]:
        """Requests at once. In the order of the requests: what LaKe forwards, or None."""
        sent: dict[bytes, list[int]] = defaultdict(list)
        answers: dict[bytes, list[int]] = defaultdict(list)
        requests = []
        inward = []
        for number, (client, operations) in enumerate(asked):
            request_id = next(self._request_ids) & 0xFFFF
            payload = b"".join(each.encode() for each in operations)
            frame = self.frame(client, payload, request_id=request_id)
            requests.append(Request(client, operations, request_id, self.lake.design.cycle))
            sent[frame].append(number)
            # What an answer has of its request.
            answers[frame[26:30] + frame[34:36] + frame[42:44] * self.lake.header].append(number)
            inward.append((client.lane, frame))
        since = [self._floor(operations) for _, operations in asked]
        forwarded: list[Request | None] = [None] * len(asked)
        for port, frame in self.lake.pass_frames(inward):
            if port == HOST:
                number = sent[frame].pop(0)
                forwarded[number] = requests[number]
                continue
            number = answers[frame[30:34] + frame[36:38] + frame[42:44] * self.lake.header].pop(0)
            client, _ = asked[number]
            assert port == client.lane, f"an answer to port {client.lane} leaves at {port}"
            self._check_answer(requests[number], frame, since[number])
        return forwarded

    def _floor(self, operations: Iterable[Operation]) -> int:
        return min((self.histories[each.key].floor for each in operations if each.key), default=0)

    def _check_answer(self, request: Request, frame: bytes, since: int) -> None:
        (asked,) = request.operations
        (got,) = self.operations_of(frame)
        built = self.frame(
            request.client, got.encode(), response=True, request_id=request.request_id
        )
        # It must not be fragmented, which memcached leaves to the system.
        for part in (slice(20), slice(22, 24), slice(26, None)):
            assert frame[part] == built[part], (
                f"headers or checksums differ:\n{frame.hex()}\n{built.hex()}"
            )
        assert frames.checksum(frame[14:34]) == 0, "the checksum of the IPv4 header is wrong"
        assert (got.opcode, got.opaque, got.status) == (asked.opcode, asked.opaque, 0)
        assert got.key == (asked.key if asked.opcode in (memcached.GETK, memcached.GETKQ) else b"")
        self.histories[asked.key].read(got.extras + got.value, since)
        self.hits += 1

    def execute(self, request: Request) -> list[Reply]:
        """The server executes a request that LaKe forwarded; its datagrams."""
        replies = b""
        told = []
        for each in request.operations:
            answer = self.server.answer(each)
            touched = [each.key] if each.key else list(self.histories)
            told += [(key, self.note(key)) for key in touched]
            if answer is not None:
                replies += answer.encode()
        if not replies:
            return []
        parts = -(-len(replies) // DATAGRAM)
        now = self.lake.design.cycle
        return [
            Reply(
                request.client,
                self.frame(
                    request.client,
                    replies[DATAGRAM * part : DATAGRAM * (part + 1)],
                    response=True,
                    request_id=request.request_id,
                    part=part,
                    parts=parts,
                ),
                told if part == parts - 1 else [],
                now,
            )
            for part in range(parts)
        ]

    def note(self, key: bytes) -> int:
        """The number of the state of a key at the server."""
        held = self.server.items.get(key)
        return self.histories[key].add(None if held is None else held[0] + held[1])

    def deliver(self, reply: Reply) -> None:
        """A datagram of the server passes LaKe to the client, unchanged."""
        port, frame = self.lake.pass_frame(HOST, reply.frame)
        assert frame == reply.frame, "a reply of the server is changed"
        assert port == reply.client.lane
        for key, state in reply.states:
            self.histories[key].know(state)

    def advance(self, seconds: int) -> None:
        """The server's clock goes on."""
        self.server.advance(seconds)
        for key, history in self.histories.items():
            history.know(self.note(key))

    # ---- shorthands --------------------------------------------------------------------------

    def ask(self, *operations: Operation, client: Client = CLIENT) -> list[Operation] | None:
        """Operations without faults. The server's replies, or None: LaKe has answered."""
        request = self.request(*operations, client=client)
        if request is None:
            return None
        replies = self.execute(request)
        for reply in replies:
            self.deliver(reply)
        start = 50 if self.lake.header else 42
        return memcached.decode(b"".join(reply.frame[start:] for reply in replies))

    def forwarded(self, *operations: Operation, client: Client = CLIENT) -> Request:
        """As `request`, which must not be answered by LaKe."""
        found = self.request(*operations, client=client)
        assert found is not None, f"LaKe has answered {operations}"
        return found

    def is_hit(self, key: bytes) -> bool:
        """Whether LaKe answers a GET; the server answers it otherwise."""
        # With an opaque of its own no earlier request is confused with it.
        probe = memcached.get(key, opaque=next(self._request_ids) | 1 << 31)
        return self.ask(probe, client=Client(9, 50_000)) is None

    def settle(self, keys: Iterable[bytes]) -> None:
        """All packets have arrived or are lost. Reads of these keys have what the server has."""
        self.lake.pass_lifetime()
        for _ in range(2):
            for key in keys:
                self.histories[key].know(self.note(key))
                self.is_hit(key)

    def hold(self, key: bytes, value: bytes) -> None:
        """The server has had this value all along."""
        self.server.answer(memcached.store(key, value))
        self.histories[key].know(self.note(key))

    def fill(self, key: bytes, value: bytes) -> None:
        """Has the server hold a value, and LaKe too."""
        if key in self.histories:
            self.lake.invalidate()
        self.hold(key, value)
        assert not self.is_hit(key)
        assert self.is_hit(key), "a reply is not stored"
