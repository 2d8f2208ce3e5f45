"""`netkv fpga run --live`: a design between real links, and its control channel.

A running design has the directory `$NETKV_HOME/fpga/NAME` with the socket `control`. A request is a
line of JSON, as is its reply; a reply with `error` is a refusal.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import queue
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netkv import _engine
from netkv.errors import NetkvError, UsageError
from netkv.fpga import replay
from netkv.fpga.build import Library
from netkv.fpga.ports import Place
from netkv.home import check_name, home, socket_path
from netkv.model.manifest import Manifest
from netkv.switch.run import stop_signals

_WATCH_SECONDS = 0.25
_REQUEST_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    library: Library
    name: str
    """Name of the running design."""
    places: Sequence[Place]
    seed: int
    idle_cycles: int
    line_rate: bool
    settings: Sequence[tuple[int, int]]
    """Addresses and values that are written before the start."""


def directory(name: str) -> Path:
    """The directory of a running design."""
    return home() / "fpga" / check_name(name)


def run(
    options: Options, listening: Callable[[], None], warn: Callable[[str], None]
) -> dict[str, int]:
    """Runs a design until SIGINT, SIGTERM or SIGHUP; returns its counts.

    Calls `listening` when links and control channel are open, and `warn` with a sentence for each
    front end of a guest that was disconnected. Raises `NetkvError`: a link cannot be
    used, a design of this name runs, or the design has failed.
    """
    with _own(options.name) as place:
        try:
            design = replay.prepared(
                options.library,
                seed=options.seed,
                line_rate=options.line_rate,
                settings=options.settings,
            )
            node = design.run_live(
                [(each.number, *each.plug) for each in options.places], options.idle_cycles
            )
        except (OSError, RuntimeError, ValueError) as error:
            text = str(error)
            raise NetkvError(f"{text[:1].upper()}{text[1:].rstrip('.')}.") from error
        try:
            asyncio.run(_serve(options.library.manifest, node, place, listening, warn))
            return node.statistics()
        finally:
            node.stop()


@contextlib.contextmanager
def _own(name: str) -> Iterator[Path]:
    """The directory of a running design, which belongs to this process alone."""
    place = directory(name)
    try:
        place.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NetkvError(f"{place} cannot be used: {error.strerror}.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A process that was killed has left its socket.
        (place / "control").unlink(missing_ok=True)
        yield place
        (place / "control").unlink(missing_ok=True)
    except BlockingIOError:
        raise NetkvError(
            f"A design with the name '{name}' runs already. Give this one another --name."
        ) from None
    finally:
        os.close(descriptor)


@contextlib.asynccontextmanager
async def _control(manifest: Manifest, node: _engine.FpgaNode, place: Path) -> AsyncIterator[None]:
    """Answers the requests at the socket of a running design."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ValueError):
            while line := await reader.readline():
                reply = await asyncio.to_thread(_reply, manifest, node, line)
                writer.write(json.dumps(reply).encode() + b"\n")
                await writer.drain()
        writer.close()

    with socket_path(place) as path:
        server = await asyncio.start_unix_server(answer, path)
    try:
        yield
    finally:
        server.close()


async def _serve(
    manifest: Manifest,
    node: _engine.FpgaNode,
    place: Path,
    listening: Callable[[], None],
    warn: Callable[[str], None],
) -> None:
    refused = 0
    stop = asyncio.Event()
    with stop_signals(stop):
        async with _control(manifest, node, place):
            node.start()
            listening()
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_WATCH_SECONDS):
                        await stop.wait()
                if (failure := node.failure()) is not None:
                    raise NetkvError(failure)
                if (count := node.statistics()["guest_refusals"]) != refused:
                    refused = count
                    for function, why in node.refusals().items():
                        name = manifest.ports[manifest.network_ports + function].name
                        warn(f"port {name}: a front end was disconnected: {why}")


def publish(manifest: Manifest, node: _engine.FpgaNode, name: str) -> None:
    """Opens the control channel of a design that runs in this process, until the process ends.

    Raises `NetkvError` if a design of this name runs.
    """
    ready: queue.SimpleQueue[NetkvError | None] = queue.SimpleQueue()

    async def serve(place: Path) -> None:
        async with _control(manifest, node, place):
            ready.put(None)
            await asyncio.Event().wait()

    def work() -> None:
        try:
            with _own(name) as place:
                asyncio.run(serve(place))
        except NetkvError as error:
            ready.put(error)

    threading.Thread(target=work, daemon=True, name="control").start()
    if (problem := ready.get()) is not None:
        raise problem


def _reply(manifest: Manifest, node: _engine.FpgaNode, line: bytes) -> dict[str, Any]:
    try:
        match json.loads(line):
            case {"do": "info"}:
                return {
                    "design": manifest.name,
                    "parameters": manifest.module_parameters,
                    "clock_mhz": manifest.clock_mhz,
                }
            case {"do": "registers"}:
                return {"registers": replay.read_registers(manifest, node.read_register)}
            case {"do": "counters"}:
                return {"counters": replay.read_registers(manifest, node.read_register, "counter")}
            case {"do": "write", "address": int(address), "value": int(value)}:
                node.write_register(address, value)
                return {}
            case {"do": "statistics"}:
                ports = {
                    port.name: node.counters(number) for number, port in enumerate(manifest.ports)
                }
                return {"node": node.statistics(), "ports": ports}
            case other:
                return {"error": f"A design does not know the request {other!r}."}
    except (RuntimeError, ValueError, OverflowError) as error:
        return {"error": str(error)}


def request(name: str, message: dict[str, Any]) -> dict[str, Any]:
    """Sends a request to a running design; raises `NetkvError` if it fails.

    - `{"do": "info"}` → `design`, `parameters`, `clock_mhz`
    - `{"do": "registers"}` → `registers`: name → value
    - `{"do": "counters"}` → `counters`: the same of the counters
    - `{"do": "write", "address": N, "value": N}`
    - `{"do": "statistics"}` → `node`, and `ports`: name → counts
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_REQUEST_TIMEOUT_S)
        try:
            with socket_path(directory(name)) as path:
                connection.connect(path)
            connection.sendall(json.dumps(message).encode() + b"\n")
            with connection.makefile("rb") as stream:
                reply: dict[str, Any] = json.loads(stream.readline())
        # A process that was killed has left its socket.
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise UsageError(
                f"No design with the name '{name}' runs. Start it: netkv fpga run {name} --live"
            ) from error
        except (OSError, ValueError) as error:
            raise NetkvError(f"The design '{name}' does not answer.") from error
    if "error" in reply:
        raise NetkvError(str(reply["error"]))
    return reply


def names() -> list[str]:
    """Names of designs that run, and of some that have ended without removing their socket."""
    try:
        return sorted(file.parent.name for file in (home() / "fpga").glob("*/control"))
    except OSError:
        return []
