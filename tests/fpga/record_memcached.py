"""Records the answers of a real memcached to random operations, for tests without one.

    python -m tests.fpga.record_memcached

writes `recordings/memcached-udp.txt.gz` and `recordings/memcached-emu.txt.gz` beside this file. A
line is a request of a client, or an answer to the request above: `CLIENT > HEX`, `CLIENT < HEX`. An
empty line ends what a client sends at once. The requests of `memcached-emu` are those that Emu has.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.fpga.memcached_compare import ask, let_expire
from tests.fpga.memcached_load import Load, Mix
from tests.fpga.memcached_servers import Sockets, running

FOLDER = Path(__file__).parent / "recordings"
SEED, OPERATIONS = 1, 2000


@dataclass
class Exchange:
    """Requests that a client sends at once, and the answers to each."""

    client: int = 0
    requests: list[bytes] = field(default_factory=list)
    answers: list[list[bytes]] = field(default_factory=list)


def load(mix: Mix) -> Iterator[Exchange]:
    """The exchanges of a recording."""
    with gzip.open(FOLDER / f"memcached-{mix}.txt.gz", "rt") as lines:
        exchange = Exchange()
        for line in lines:
            match line.split():
                case [client, ">", request]:
                    exchange.client = int(client)
                    exchange.requests.append(bytes.fromhex(request))
                    exchange.answers.append([])
                case [_, "<", answer]:
                    exchange.answers[-1].append(bytes.fromhex(answer))
                case _:
                    yield exchange
                    exchange = Exchange()


def record(mix: Mix) -> None:
    """Records an own server."""
    lines = []
    with running() as address, closing(Sockets(address)) as server:
        operations = Load(SEED, OPERATIONS, mix)
        for step in operations.steps():
            if step.pause:
                let_expire([server])
                continue
            answers = ask(server, step)
            for request, own in zip(step.datagrams, answers, strict=True):
                operations.learn(own)
                lines.append(f"{step.client} > {request.hex()}")
                lines += [f"{step.client} < {each.hex()}" for each in own]
            lines.append("")
    FOLDER.mkdir(exist_ok=True)
    text = "\n".join(lines) + "\n"
    # Without the time, so that the same text is the same file.
    (FOLDER / f"memcached-{mix}.txt.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    record("udp")
    record("emu")
