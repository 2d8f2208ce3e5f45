"""Cases and violations as text for users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netkv import schemes
from netkv.model.profile import Time
from netkv.model.scheme_options import WriteBackCache
from netkv.model.spec import ClosedLoop
from netkv.soak.case import Case
from netkv.soak.verdict import Violation


def case_lines(case: Case, began: float) -> Iterator[str]:
    """The rack, the load and the faults; `began`: virtual time in seconds when the load began."""
    lab, load, profile = case.rack.lab, case.rack.workload, case.profile
    changed = f", program {case.program}" if case.program else ""
    changed += f", mutant {case.mutant}" if case.mutant else ""
    yield f"scheme   {case.rack.scheme}{changed}"
    options = WriteBackCache.of(lab)
    cache = (
        f"; cache of {options.cache_entries}, hot at {options.hot_threshold} reads in "
        f"{options.epoch:g} s"
    )
    if schemes.get(case.rack.scheme).traits.client_keeps:
        period = options.snapshot_period
        cache += f", a snapshot every {period:g} s" if period else ", no snapshots"
    yield (
        f"rack     {lab.topology.describe()}, {_count(lab.servers, 'server')} in "
        f"{_count(min(lab.server_processes, lab.servers), 'process')}, "
        f"{_count(lab.clients, 'client')}{cache}{', preloaded' if options.preload else ''}"
    )
    if lab.service_rate is not None:
        yield f"         {lab.service_rate:g} operations/s a server, {lab.queue_limit} may wait"
    size = load.value_size
    sizes = f"{size} bytes" if isinstance(size, int) else f"{size.min} to {size.max} bytes"
    arrivals = (
        f"{load.arrivals.outstanding} outstanding"
        if isinstance(load.arrivals, ClosedLoop)
        else f"{load.arrivals.rate:g}/s"
    )
    conditional = f", {load.conditional:g} of the writes conditional" if load.conditional else ""
    yield (
        f"load     {_count(load.keys, 'key')}, zipf {load.zipf:g}, writes {load.writes:g}, "
        f"deletes {load.deletes:g}{conditional}, values of {sizes}, {arrivals}"
    )
    if load.shift is not None:
        yield f"         {load.shift.kind} of {load.shift.keys} keys every {load.shift.every:g} s"
    yield (
        f"         requests are repeated from {case.rack.retry * 1e3:g} ms on, given up after "
        f"{case.rack.deadline * 1e3:g} ms"
    )
    server, link, control = profile.server, profile.server_link, profile.control
    yield (
        f"network  cables {link.bandwidth_gbps:g} Gbit/s and {link.delay:g} us; switch "
        f"{profile.switch.latency:g} us; control channel {control.latency:g} us, "
        f"{control.rate:g} messages/s"
    )
    yield (
        f"hosts    server: {server.cores} cores, receive {_time(server.receive)}, get "
        f"{_time(server.get)}, put {_time(server.put)}; client: receive "
        f"{_time(profile.client.receive)}, send {_time(profile.client.send)}"
    )
    yield f"time     {case.duration * 1e3:g} ms of load, from {began * 1e3:g} ms on"
    for event, _ in case.schedule:
        yield f"         {(began + event.at) * 1e3:14.6f} ms  {event.describe()}"
    if not case.faults:
        yield "         no faults"


def violation_lines(violation: Violation) -> Iterator[str]:
    """The violation, and the operations that prove it."""
    key = f" of {key_name(violation.key)}" if violation.key else ""
    yield f"{violation.kind}{key}, found at {violation.at * 1e3:.6f} ms: {violation.text}"
    for operation in violation.operations:
        yield f"  {_span(operation)}  {operation_text(operation)}"


def operation_text(operation: dict[str, Any]) -> str:
    """`client 1  get 17: value of 2/9`."""
    what = f"client {operation['client']}  {operation['what']} {operation['request']}"
    writer = operation.get("writer")
    of = f" of {writer['client']}/{writer['request']}" if writer and writer["client"] else ""
    if operation["what"] != "get":
        of = ""
    return f"{what}: {operation['result']}{of}"


def _span(operation: dict[str, Any]) -> str:
    begin, end = operation.get("start_ns"), operation.get("end_ns")
    return f"{_ms(begin)} to {_ms(end)}"


def _ms(nanoseconds: int | None) -> str:
    return f"{'?':>14} ms" if nanoseconds is None else f"{nanoseconds / 1e6:14.6f} ms"


def key_name(key: str) -> str:
    """The name of a key of the keyspace: its number, which is its second half."""
    return f"key {int(key[16:], 16)}"


def _count(number: int, what: str) -> str:
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{number} {what if number == 1 else plural}"


def _time(time: Time) -> str:
    if not time.mean:
        return "0"
    return f"{time.mean:g} us" if time.kind == "constant" else f"~{time.mean:g} us"
