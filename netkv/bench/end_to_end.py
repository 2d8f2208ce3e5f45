"""The benchmark `netkv bench e2e`: a switch that answers every read over UDP, beside an echo.

All contenders take short turns in rounds, so that other load of the machine affects them equally; a
figure is the median of its turns, and a ratio the median of the ratios within a round. The
answering side has one core and the load another, if there are two.

The echo is a node with the sockets, batches and loop of a switch and no program. It is measured
twice, as is the switch: with single datagrams, as any UDP program sends them, and with trains
(frames of one size cross the kernel together), which is netkv's default.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from netkv import resources
from netkv.bench import stores
from netkv.bench.benchmark import Progress
from netkv.bench.result import BenchResult, Document, Executor, this_machine
from netkv.errors import NetkvError, UsageError, suggest
from netkv.live.ports import free_ports
from netkv.model.hardware import Executor as SwitchExecutor
from netkv.model.topology import CPU_PORT

if TYPE_CHECKING:
    from netkv import _engine


PATH = "read-hit"
"""The path through a program that is measured: reads that the switch answers."""
WINDOW = 256
"""Requests outstanding while the rate is measured."""
BATCH = 64
"""Frames or requests that are sent together, where possible."""
ROUNDS = 10


@dataclass(frozen=True)
class Plan:
    """Parameters of the benchmark."""

    program: str
    """Name of a program with the path `PATH`."""
    executor: SwitchExecutor = "compiled"
    entries: int = 10_000
    value_sizes: tuple[int, ...] = (128,)
    seconds: float = 3.0
    """Seconds of load for each row; latency takes half as long in addition."""
    stores: bool = True
    """Whether Redis and memcached are measured."""
    pipelines: int = 1
    """With several, switches and echoes with so many pipelines are measured, too."""


@dataclass(frozen=True)
class Turn:
    """Results of a turn of load."""

    pps: float = 0.0
    ns_p50: float | None = None
    ns_p99: float | None = None
    core_ns: float | None = None
    """Time on a core of the answering side for a request."""
    capacity: float = 0.0
    """Requests per second, if each thread of the answering side had a core to itself: those that a
    thread answers in a second on a core, added up over the threads."""


@dataclass
class Contender:
    """Something that answers requests, and its turns."""

    name: str
    program: str
    path: str
    executor: Executor
    value_size: int
    measure: Callable[[int, float], Turn]
    """Loads it; arguments: requests outstanding, seconds."""
    loaded: list[Turn] = field(default_factory=list)
    single: list[Turn] = field(default_factory=list)


@dataclass(frozen=True)
class EndToEnd:
    """The document, and figures for the terminal only."""

    benchmark: Document
    core_ns: list[float | None]
    """Core time of a request, for each result."""
    left_out: list[str]
    """Sentences about contenders that could not be measured."""


def run(plan: Plan, progress: Progress) -> EndToEnd:
    """Measures everything. Raises `UsageError` for invalid sizes."""
    count = len(plan.value_sizes) * (ROUNDS + 1)
    results: list[BenchResult] = []
    core_ns: list[float | None] = []
    ratios: dict[str, float] = {}
    left_out: list[str] = []
    for number, value_size in enumerate(plan.value_sizes):
        first = number * (ROUNDS + 1)
        with contextlib.ExitStack() as stack:
            progress(first, count, f"filling {plan.entries:,} entries of {value_size} bytes")
            contenders = [*_datagrams(plan, value_size, stack)]
            if plan.pipelines > 1:
                contenders += _datagrams(plan, value_size, stack, plan.pipelines)
            if plan.stores:
                for make in (_redis, _memcached):
                    try:
                        contenders += make(plan, value_size, stack)
                    except stores.NotInstalledError as error:
                        if str(error) not in left_out:
                            left_out.append(str(error))
            for turn in range(ROUNDS):
                progress(first + 1 + turn, count, f"{value_size} bytes, round {turn + 1}")
                _round(contenders, plan.seconds / ROUNDS)
        for contender in contenders:
            results.append(result_of(contender, plan.entries))
            core_ns.append(_middle([turn.core_ns for turn in contender.loaded]))
        suffix = "" if len(plan.value_sizes) == 1 else f"_{value_size}_bytes"
        found = _ratios(contenders) | _pipeline_ratios(contenders, plan.pipelines)
        ratios |= {f"{name}{suffix}": ratio for name, ratio in found.items()}
    progress(count, count, "")
    benchmark = Document(machine=this_machine(), results=results, ratios=ratios)
    return EndToEnd(benchmark, core_ns, left_out)


def _round(contenders: Sequence[Contender], seconds: float) -> None:
    for contender in contenders:
        contender.loaded.append(contender.measure(WINDOW, seconds))
    for contender in contenders:
        contender.single.append(contender.measure(1, seconds / 2))


def result_of(contender: Contender, entries: int) -> BenchResult:
    """The medians of its turns."""
    return BenchResult(
        program=contender.program,
        path=contender.path,
        executor=contender.executor,
        entries=entries,
        value_size=contender.value_size,
        pps=round(median(turn.pps for turn in contender.loaded)),
        ns_p50=_middle([turn.ns_p50 for turn in contender.single]),
        ns_p99=_middle([turn.ns_p99 for turn in contender.single]),
    )


def _middle(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(median(known)) if known else None


def _ratios(contenders: Sequence[Contender]) -> dict[str, float]:
    """Switch to echo, both without or both with trains; and switch with trains to plain echo."""
    by_name = {contender.name: contender for contender in contenders}
    echo, switch = by_name["echo"], by_name["switch"]
    echo_trains, switch_trains = by_name["echo, trains"], by_name["switch, trains"]
    return {
        "throughput_to_echo": paired(switch.loaded, echo.loaded, rate),
        "latency_to_echo": paired(switch.single, echo.single, latency),
        "throughput_to_echo_with_trains": paired(switch_trains.loaded, echo_trains.loaded, rate),
        "latency_to_echo_with_trains": paired(switch_trains.single, echo_trains.single, latency),
        "throughput_with_trains_to_plain_echo": paired(switch_trains.loaded, echo.loaded, rate),
    }


def _pipeline_ratios(contenders: Sequence[Contender], pipelines: int) -> dict[str, float]:
    """Several pipelines to one, with the load's share of the cores and without it."""
    if pipelines == 1:
        return {}
    by_name = {contender.name: contender for contender in contenders}
    found = {}
    for name in ("switch", "switch, trains", "echo", "echo, trains"):
        one, several = by_name[name].loaded, by_name[_name(name, pipelines)].loaded
        key = name.replace(", ", "_with_")
        found[f"throughput_of_{key}_with_{pipelines}_pipelines"] = paired(several, one, rate)
        found[f"capacity_of_{key}_with_{pipelines}_pipelines"] = paired(several, one, capacity)
    return found


def _name(contender: str, pipelines: int) -> str:
    return contender if pipelines == 1 else f"{contender}, {pipelines} pipelines"


def rate(turn: Turn) -> float:
    """Requests per second."""
    return turn.pps


def capacity(turn: Turn) -> float:
    """Requests per second, if each thread of the answering side had a core to itself."""
    return turn.capacity


def latency(turn: Turn) -> float:
    """Median of the time of a single request, in nanoseconds."""
    return turn.ns_p50 or 0.0


def paired(own: Sequence[Turn], other: Sequence[Turn], of: Callable[[Turn], float]) -> float:
    """The median of the ratios within a round."""
    pairs = [(of(a), of(b)) for a, b in zip(own, other, strict=True)]
    found = [a / b for a, b in pairs if b > 0]
    return round(median(found), 3) if found else 0.0


# Contenders


def _datagrams(
    plan: Plan, value_size: int, stack: contextlib.ExitStack, pipelines: int = 1
) -> Iterator[Contender]:
    """Echo and switch, each with single datagrams and with trains."""
    from netkv import _engine
    from netkv.bench import data_plane

    able = [name for name, paths in _engine.bench_paths().items() if PATH in paths]
    if plan.program not in able:
        options = suggest(plan.program, able, label="Programs that do")
        raise UsageError(f"No P4 program '{plan.program}' answers reads. {options}")
    file = data_plane.files().get(plan.program)
    folders = [str(resources.path("p4"))]
    try:
        switch, traffic = _engine.filled_switch(
            plan.program,
            PATH,
            plan.executor,
            plan.entries,
            value_size,
            None if file is None else str(file),
            folders,
            pipelines,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    reply = traffic[0]["leave_bytes"]
    for trains in (False, True):
        for kind in ("echo", "switch"):
            cables = [[f"127.0.0.1:{number}" for number in free_ports(2)] for _ in traffic]
            ports = [
                (each["port"], here, there)
                for each, (here, there) in zip(traffic, cables, strict=True)
            ]
            node: _engine.EchoNode | _engine.SwitchNode
            if kind == "echo":
                node = _engine.EchoNode(ports, reply, trains, pipelines)
            else:
                node = _engine.SwitchNode(switch, ports, CPU_PORT, trains)
            stack.callback(node.stop)
            loads = [
                _engine.DatagramLoad(there, here, each["frames"], reply, trains)
                for each, (here, there) in zip(traffic, cables, strict=True)
            ]
            node.start()
            _place(node)
            name = f"{kind}, trains" if trains else kind
            path = f"{PATH}-trains" if trains else PATH
            yield Contender(
                name=_name(name, pipelines),
                program=plan.program,
                path=path if pipelines == 1 else f"{path}-{pipelines}-pipelines",
                executor="udp-echo" if kind == "echo" else plan.executor,
                value_size=value_size,
                measure=DatagramTurn(node, *loads),
            )


def _place(node: _engine.EchoNode | _engine.SwitchNode) -> None:
    """Keeps the threads of a node on cores of their own: the last ones, from the end."""
    while not (threads := node.threads()):
        time.sleep(0.001)
    allowed = sorted(os.sched_getaffinity(0))
    for number, thread in enumerate(threads):
        os.sched_setaffinity(thread, {allowed[-1 - number % len(allowed)]})


class DatagramTurn:
    """Loads a node that answers every frame, with a load for each of its pipelines.

    Load and pipeline are on different cores. With fewer cores than loads and pipelines, the load of
    one pipeline takes time of the core of another: then only the capacity says how fast the node
    is.
    """

    def __init__(
        self, node: _engine.EchoNode | _engine.SwitchNode, *loads: _engine.DatagramLoad
    ) -> None:
        self._node = node
        self._loads = loads

    def __call__(self, window: int, seconds: float) -> Turn:
        before = self._node.pipeline_statistics()
        with ThreadPoolExecutor(len(self._loads)) as threads:
            running = [
                threads.submit(_run, load, number, window, seconds)
                for number, load in enumerate(self._loads)
            ]
            seen = [each.result() for each in running]
        after = self._node.pipeline_statistics()
        if wrong := sum(each["wrong"] for each in seen):
            raise NetkvError(
                f"{wrong} answers have the wrong length, so they are no cache hits. "
                f"This is an error of netkv."
            )
        received, core_ns = (
            [now[name] - then[name] for then, now in zip(before, after, strict=True)]
            for name in ("received", "cpu_ns")
        )
        first = seen[0]
        return Turn(
            pps=sum(each["replies"] / each["seconds"] for each in seen),
            ns_p50=first["ns_p50"],
            ns_p99=first["ns_p99"],
            core_ns=sum(core_ns) / sum(received) if sum(received) else None,
            capacity=sum(
                1e9 * count / used for count, used in zip(received, core_ns, strict=True) if used
            ),
        )


def _run(
    load: _engine.DatagramLoad, number: int, window: int, seconds: float
) -> _engine.LoadReport:
    with on_core(number % len(os.sched_getaffinity(0))):
        return load.run(window, seconds)


def _redis(plan: Plan, value_size: int, stack: contextlib.ExitStack) -> Iterator[Contender]:
    """Redis with as many connections as requests, and with pipelined requests on a few."""
    with on_core(-1):
        port = stack.enter_context(stores.redis(plan.entries, value_size))
    shapes = (("get-connections", WINDOW, 1), ("get-pipelined", WINDOW // BATCH, BATCH))
    for path, connections, pipeline in shapes:
        yield Contender(
            name=f"redis, {path}",
            program="redis",
            path=path,
            executor="redis",
            value_size=value_size,
            measure=_RedisTurn(port, connections, pipeline, plan.entries, value_size),
        )


@dataclass
class _RedisTurn:
    """`redis-benchmark` takes a number of requests, not a time: the last turn's rate gives it."""

    port: int
    connections: int
    pipeline: int
    entries: int
    value_size: int
    rates: dict[int, float] = field(default_factory=dict)

    def __call__(self, window: int, seconds: float) -> Turn:
        requests = max(int(self.rates.get(window, 20_000) * seconds), 1_000)
        with on_core(0):
            seen = stores.redis_benchmark(
                self.port,
                requests=requests,
                connections=1 if window == 1 else self.connections,
                pipeline=1 if window == 1 else self.pipeline,
                entries=self.entries,
                value_size=self.value_size,
            )
        self.rates[window] = seen.rate
        single = window == 1
        return Turn(seen.rate, seen.ns_p50 if single else None, seen.ns_p99 if single else None)


def _memcached(plan: Plan, value_size: int, stack: contextlib.ExitStack) -> Iterator[Contender]:
    """memcached over one TCP connection: pipelined requests, and requests for many keys."""
    from netkv import _engine

    with on_core(-1):
        port = stack.enter_context(stores.memcached(plan.entries, value_size)).port
    keys = _shuffled(plan.entries)

    def load(count: int) -> _engine.StreamLoad:
        requests = [
            stores.memcached_get([keys[(start + i) % len(keys)] for i in range(count)])
            for start in range(0, len(keys), count)
        ]
        reply = stores.memcached_reply_bytes(count, value_size)
        return _engine.StreamLoad(f"127.0.0.1:{port}", requests, reply)

    single = load(1)
    for path, many, count in (("get-pipelined", single, 1), ("get-64-keys", load(BATCH), BATCH)):
        yield Contender(
            name=f"memcached, {path}",
            program="memcached",
            path=path,
            executor="memcached",
            value_size=value_size,
            measure=_MemcachedTurn(single, many, count),
        )


@dataclass(frozen=True)
class _MemcachedTurn:
    single: _engine.StreamLoad
    many: _engine.StreamLoad
    keys: int
    """Keys in a request of `many`."""

    def __call__(self, window: int, seconds: float) -> Turn:
        with on_core(0):
            if window == 1:
                seen = self.single.run(1, seconds)
            else:
                seen = self.many.run(max(window // self.keys, 1), seconds)
        got = seen["replies"] * (1 if window == 1 else self.keys)
        return Turn(got / seen["seconds"], seen["ns_p50"], seen["ns_p99"])


def _shuffled(count: int) -> list[int]:
    """0 to `count` - 1 in a fixed order that a CPU's prefetcher cannot predict."""
    from random import Random

    numbers = list(range(count))
    Random(7).shuffle(numbers)
    return numbers


@contextlib.contextmanager
def on_core(which: int) -> Iterator[None]:
    """Keeps this thread, and threads and processes that it starts meanwhile, on one core.

    `which` counts the cores that this process may use: 0 is the first, -1 the last.
    """
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {sorted(allowed)[which]})
        yield
    finally:
        os.sched_setaffinity(0, allowed)
