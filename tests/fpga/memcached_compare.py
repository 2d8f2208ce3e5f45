"""Compares a memcached behind a design with a memcached alone: the same operations, in the same
order, must have the same answers, byte by byte.

    python -m tests.fpga.memcached_compare --design 10.9.0.2:11211 --alone 127.0.0.1:11211 \
        --seed 1 --operations 10000 [--streams] [--early-writes]

prints the counts as JSON; exit status 1 and the operation on stderr if an answer differs.

With --early-writes one difference is allowed: the design serves a value before the server has
acknowledged it, and then does not know its CAS. Such an answer has the CAS 0 (`unknown_cas`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tests.fpga.memcached_load import SOON, Load, Step, is_last
from tests.fpga.memcached_servers import Link, Sockets
from tests.fpga.packets import memcached
from tests.waiting import until

_STAT = 0x10


@dataclass
class Counts:
    """What was compared."""

    operations: int = 0
    datagrams: int = 0
    answers: int = 0
    streams: int = 0
    """Commands over TCP."""
    gets: int = 0
    """GETs that stood alone in their datagram."""
    found: int = 0
    """Answers with a value."""
    unknown_cas: int = 0
    """Answers of the design whose CAS is 0 in place of that of the server."""


class DifferenceError(AssertionError):
    """The two servers answered an operation differently."""


def compare(load: Load, design: Link, alone: Link, *, early_writes: bool = False) -> Counts:
    """Runs all operations against both; raises `DifferenceError` at the first difference."""
    counts = Counts()
    for number, step in enumerate(load.steps()):
        if step.pause:
            let_expire((design, alone))
        if step.stream:
            expected, found = [alone.stream(step.stream)], [design.stream(step.stream)]
            counts.streams += 1
        else:
            expected = [each for own in ask(alone, step) for each in own]
            found = _send(design, step, len(expected))
        # The datagrams of an answer may change their order.
        found.sort()
        expected_in_order = sorted(expected)
        if early_writes and found != expected_in_order:
            known = [with_cas_of(*each) for each in zip(found, expected_in_order, strict=True)]
            counts.unknown_cas += sum(map(bytes.__ne__, found, known))
            found = known
        if found != expected_in_order:
            raise DifferenceError(_explained(number, step, found, expected))
        load.learn(expected)
        counts.operations += step.operations
        counts.datagrams += len(step.datagrams)
        counts.answers += len(expected)
        counts.found += sum(_has_value(answer) for answer in expected)
    counts.gets = load.gets
    return counts


def ask(server: Link, step: Step) -> list[list[bytes]]:
    """Sends a step to a server whose answers keep their order; returns those to each datagram."""
    answers: list[list[bytes]] = []
    for datagram in step.datagrams:
        server.send(step.client, datagram)
        own: list[bytes] = []
        while not is_last(datagram, own):
            own.append(server.receive(step.client))
        answers.append(own)
    return answers


def _send(server: Link, step: Step, count: int) -> list[bytes]:
    for datagram in step.datagrams:
        server.send(step.client, datagram)
    return [server.receive(step.client) for _ in range(count)]


def let_expire(servers: Sequence[Link]) -> None:
    """Waits until items with the expiry SOON have expired in both servers."""
    ends = [_time(each) + SOON + 2 for each in servers]
    for server, end in zip(servers, ends, strict=True):
        until(lambda: _time(server) >= end, "the items have expired", every_s=0.2)  # noqa: B023


def _time(server: Link) -> int:
    """The time of a server, of its statistics: a request that caches pass on."""
    request = bytes(4) + b"\0\1\0\0" + memcached.Operation(_STAT).encode()
    server.send(0, request)
    parts: dict[int, bytes] = {}
    total = 1
    while len(parts) < total:
        answer = server.receive(0)
        total = int.from_bytes(answer[4:6], "big")
        parts[int.from_bytes(answer[2:4], "big")] = answer[8:]
    text = b"".join(parts[index] for index in range(total))
    return next(int(each.value) for each in memcached.decode(text) if each.key == b"time")


def with_cas_of(answer: bytes, expected: bytes, *, at: int = 8) -> bytes:
    """An answer whose CAS is 0 with the CAS of another; the operation begins at byte `at`."""
    cas = at + 16
    if answer[at : at + 1] != b"\x81" or answer[cas : cas + 8] != bytes(8):
        return answer
    return answer[:cas] + expected[cas : cas + 8] + answer[cas + 8 :]


def _has_value(answer: bytes) -> bool:
    """A successful reply with extras: flags and value, or a count."""
    return answer[8:9] == b"\x81" and answer[12] == 4 and answer[14:16] == b"\0\0"


def _explained(number: int, step: Step, found: Sequence[bytes], expected: Sequence[bytes]) -> str:
    def lines(name: str, packets: Sequence[bytes]) -> str:
        return "".join(f"\n  {name} {len(each)} bytes: {each[:80].hex()}" for each in packets)

    return (
        f"Step {number} of client {step.client} has different answers."
        f"{lines('asked', step.datagrams or [step.stream])}"
        f"{lines('design', found)}{lines('alone', expected)}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares a design with a memcached alone.")
    for name in ("--design", "--alone"):
        parser.add_argument(name, required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--streams", action="store_true", help="Some commands go over TCP.")
    parser.add_argument("--early-writes", action="store_true", help="Values may have the CAS 0.")
    options = parser.parse_args()
    load = Load(options.seed, options.operations, streams=options.streams)
    began = time.monotonic()
    try:
        counts = compare(
            load,
            Sockets(_pair(options.design)),
            Sockets(_pair(options.alone)),
            early_writes=options.early_writes,
        )
    except DifferenceError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{time.monotonic() - began:.1f} s", file=sys.stderr)
    print(json.dumps(asdict(counts)))
    return 0


def _pair(text: str) -> tuple[str, int]:
    address, _, port = text.rpartition(":")
    return address, int(port)


if __name__ == "__main__":
    sys.exit(main())
