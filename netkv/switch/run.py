"""`netkv switch run`: the engine with its ports and its P4Runtime server, until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from netkv import _engine
from netkv.errors import NetkvError, UsageError, sentence
from netkv.p4rt.server import P4RuntimeServer
from netkv.switch.assertions import AssertionWatch
from netkv.switch.ports import Interface, Port, Ring

_WATCH_SECONDS = 0.25


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    bundle: bytes
    """The compiled program."""
    include_dirs: Sequence[str]
    """Include directories for programs that a controller sends as source."""
    ports: Sequence[Port]
    ring: Ring
    host: str
    tcp_port: int
    """Port of the P4Runtime server; 0 chooses a free one."""
    device_id: int
    cpu_port: int
    pcap: Path | None
    """Directory for a record of every port."""
    executor: str
    pipelines: int
    seed: int
    stop_at_assertions: bool
    """Whether a false assertion of the program ends the switch."""


@dataclass(frozen=True)
class Running:
    """A switch that runs."""

    p4runtime: str
    """host:port of its P4Runtime server."""
    options: Options

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "p4runtime": self.p4runtime,
            "device_id": self.options.device_id,
            "cpu_port": self.options.cpu_port,
            "ports": {
                str(port.number): str(port).partition(": ")[2] for port in self.options.ports
            },
            "pcap": None if self.options.pcap is None else str(self.options.pcap),
        }


def address(text: str, *, allow_remote: bool) -> tuple[str, int]:
    """Host and TCP port of an address. Raises `UsageError` for one that other machines reach."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise UsageError(f"'--grpc {text}' is not an address; it looks like 127.0.0.1:9559.")
    if not allow_remote and not _is_loopback(host):
        raise UsageError(
            f"'--grpc {text}' lets other machines program the switch, without a password. "
            f"Use 127.0.0.1, or --allow-remote to permit that."
        )
    return host, int(port)


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches the host; a name other than localhost may be any host."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def run(
    options: Options,
    listening: Callable[[Running], None],
    warn: Callable[[str], None],
) -> dict[str, int]:
    """Runs the switch until SIGINT or SIGTERM; returns its counts.

    Calls `listening` when the ports and the P4Runtime server are open, and `warn` with sentences
    about frames that no P4 program can process. Raises `NetkvError`: a port cannot be used, or the
    switch has ended by itself.
    """
    switch = _engine.Switch(
        options.bundle,
        options.seed,
        options.executor,
        options.pipelines,
        options.stop_at_assertions,
    )
    try:
        node = _engine.SwitchNode(
            switch,
            [port.plug(options.ring) for port in options.ports],
            options.cpu_port,
            seed=options.seed,
        )
        if options.pcap is not None:
            node.record(str(options.pcap))
    except (OSError, ValueError) as error:
        raise NetkvError(sentence(str(error))) from error
    try:
        asyncio.run(_serve(options, switch, node, listening, warn))
        return node.statistics()
    finally:
        node.stop()


async def _serve(
    options: Options,
    switch: _engine.Switch,
    node: _engine.SwitchNode,
    listening: Callable[[Running], None],
    warn: Callable[[str], None],
) -> None:
    server = P4RuntimeServer(
        switch,
        node,
        device_id=options.device_id,
        bundle=options.bundle,
        include_dirs=options.include_dirs,
    )
    stop = asyncio.Event()
    with stop_signals(stop):
        try:
            served = await server.start(options.tcp_port, options.host)
        except OSError as error:
            raise NetkvError(sentence(str(error))) from error
        try:
            node.start()
            listening(Running(served, options))
            await _watch(switch, node, options, stop, warn)
        finally:
            await server.stop()


async def _watch(
    switch: _engine.Switch,
    node: _engine.SwitchNode,
    options: Options,
    stop: asyncio.Event,
    warn: Callable[[str], None],
) -> None:
    """Returns when `stop` is set; raises `NetkvError` when the switch has ended by itself."""
    warned: set[str] = set()
    assertions = AssertionWatch(switch)
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_WATCH_SECONDS):
                await stop.wait()
        if (failure := node.failure()) is not None:
            raise NetkvError(failure)
        for text in assertions.new():
            if options.stop_at_assertions:
                raise NetkvError(f"{text} The switch has ended, as '--stop-on-assert' says.")
            warn(f"Warning: {text}")
        counts = node.statistics()
        for name, text in _warnings(options.ports).items():
            if counts[name] and name not in warned:
                warned.add(name)
                warn(text)


def _warnings(ports: Sequence[Port]) -> dict[str, str]:
    """Warnings by the counter that should stay 0."""
    interfaces = ", ".join(port.name for port in ports if isinstance(port, Interface))
    offloads = (
        f"Turn that off at the other ends of {interfaces}: ethtool -K INTERFACE tx off"
        if interfaces
        else "Its sender has to make frames of 14 to 2048 bytes"
    )
    return {
        "unsummed": "Warning: frames arrive without checksums, which their sender leaves to a "
        f"network card. {offloads}.",
        "malformed": "Warning: frames of less than 14 or more than 2048 bytes are dropped; TCP "
        f"sends such frames if it leaves their segmentation to a network card. {offloads}.",
        "unrecorded": "Warning: frames could not be recorded; the disk may be full.",
    }


@contextlib.contextmanager
def stop_signals(stop: asyncio.Event) -> Iterator[None]:
    """Lets SIGINT, SIGTERM and SIGHUP set the event."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # `loop.add_signal_handler` would take the signals away from `netkv.cli.signals`.
    before = {
        number: signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
        for number in numbers
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
