"""Redis through netkv against Redis alone: the cost of the back end and the server shim.

All use one redis-server over its socket, 64 operations at a time, and take short turns in rounds; a
ratio is the median of the ratios within a round. `redis-py` is the code that a user would write:
MGET, and a pipeline that is a transaction, with hiredis. `back-end` does the same for a server,
which must know afterwards whether a write was done. `shim` is a whole server: UDP in, reads
gathered into a batch, UDP out. Its writes are not measured: the load repeats its frames, and the
server would treat repeated writes as duplicates.
"""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from netkv import schemes
from netkv.bench.benchmark import Progress
from netkv.bench.benchmarks.redis import Plan
from netkv.bench.result import BenchResult, Document, this_machine
from netkv.errors import NetkvError
from netkv.live import redis_server
from netkv.live.ports import free_ports
from netkv.model.nodes import Servers
from netkv.model.spec import DEFAULT_KEY_SIZE

if TYPE_CHECKING:
    from netkv.servers.redis import Redis

BATCH = 64
ROUNDS = 7
_VALUE = b"v" * 128
_CLIENT = 1

Turn = Callable[[float], float]
"""Performs operations for some seconds; returns the operations per second."""


def run(plan: Plan, progress: Progress) -> Document:
    """Measures; raises NetkvError, for instance if redis-server is not installed."""
    rates: dict[tuple[str, str], list[float]] = {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="netkv-redis-")))
        stack.enter_context(redis_server.running(folder, plan.fsync))
        turns = dict(_contenders(plan, folder, stack))
        for number in range(ROUNDS):
            progress(number, ROUNDS, f"round {number + 1}")
            for name, turn in turns.items():
                rates.setdefault(name, []).append(turn(plan.seconds / ROUNDS))
    results = [
        BenchResult(
            program=program,
            path=path,
            executor="redis",
            entries=plan.entries,
            value_size=len(_VALUE),
            pps=median(found),
        )
        for (path, program), found in rates.items()
    ]
    ratios = {
        f"{path}_of_{program.replace('-', '_')}_to_redis_py": median(
            one / other for one, other in zip(found, rates[path, "redis-py"], strict=True)
        )
        for (path, program), found in rates.items()
        if program != "redis-py"
    }
    return Document(machine=this_machine(), results=results, ratios=ratios)


def _contenders(
    plan: Plan, folder: Path, stack: contextlib.ExitStack
) -> Iterator[tuple[tuple[str, str], Turn]]:
    import redis

    from netkv.servers import redis as back_end
    from netkv.servers.redis_places import Own, short_path

    rng = random.Random(1)
    keys = [rng.randbytes(16) for _ in range(plan.entries)]
    store = back_end.Redis(Own(folder), timeout=10.0)
    for start in range(0, len(keys), 1000):
        store.execute([("put", key, _VALUE) for key in keys[start : start + 1000]])

    def some() -> list[bytes]:
        at = rng.randrange(max(1, len(keys) - BATCH))
        return keys[at : at + BATCH]

    client = stack.enter_context(
        redis.Redis(unix_socket_path=stack.enter_context(short_path(folder)))
    )

    def pipelined() -> None:
        pipeline = client.pipeline(transaction=True)
        for key in some():
            pipeline.set(key, _VALUE)
        pipeline.execute()

    yield ("get", "redis-py"), _repeated(lambda: client.mget(some()))
    yield ("put", "redis-py"), _repeated(pipelined)
    stack.callback(store.close)
    yield (
        ("get", "back-end"),
        _repeated(lambda: store.execute([("get", key, None) for key in some()])),
    )
    yield (
        ("put", "back-end"),
        _repeated(lambda: store.execute([("put", key, _VALUE) for key in some()])),
    )
    yield ("get", "shim"), _shim(store, keys, stack)


def _repeated(operation: Callable[[], object]) -> Turn:
    def turn(seconds: float) -> float:
        start = time.perf_counter()
        count = 0
        while (now := time.perf_counter()) < start + seconds:
            operation()
            count += BATCH
        return count / (now - start)

    return turn


def _shim(store: Redis, keys: list[bytes], stack: contextlib.ExitStack) -> Turn:
    from netkv import _engine
    from netkv.model.messages import Message, Op, encode
    from netkv.model.topology import client_ip, server_ip

    plain = next(
        each for each in schemes.all_schemes() if not (each.traits.caches or each.traits.multigets)
    )
    here, there = (f"127.0.0.1:{port}" for port in free_ports(2))
    config = {
        "bind": here,
        "peer": there,
        "role": plain.role(Servers),
        "partitions": [0],
        "keyspace": {"servers": 1, "racks": 1, "key_size": DEFAULT_KEY_SIZE},
        "keys": 1,
        "value_size": len(_VALUE),
        "seed": 1,
        "service_rate": None,
        "queue_limit": 256,
    }
    node = _engine.ServerNode(json.dumps(config))
    stack.callback(node.stop)
    node.start(store)

    def frame(number: int, key: bytes) -> bytes:
        message = Message(op=Op.GET, key=key, request=number, length=0, value=b"", sender=_CLIENT)
        return encode(message, client_ip(_CLIENT), server_ip(0))

    frames = [frame(number, key) for number, key in enumerate(keys)]
    answer = Message(
        op=Op.GET_REPLY, key=keys[0], request=0, length=len(_VALUE), value=_VALUE, sender=_CLIENT
    )
    length = len(encode(answer, server_ip(0), client_ip(_CLIENT)))
    load = _engine.DatagramLoad(there, here, frames, length)

    def turn(seconds: float) -> float:
        seen = load.run(BATCH, seconds)
        if seen["wrong"]:
            raise NetkvError(
                f"{seen['wrong']} answers have the wrong length. This is an error of netkv."
            )
        return seen["replies"] / seen["seconds"]

    return turn
