"""Frames through a design in virtual time: what it answers, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netkv import _engine
from netkv.errors import NetkvError, UsageError
from netkv.fpga.build import Library
from netkv.model.manifest import Manifest, Register

_CHUNK_CYCLES = 50_000
"""Cycles between two looks at the queues: fewer frames than the host's queue takes leave."""

_READY_CYCLES = 100_000_000
"""Cycles that a design may need after reset."""


@dataclass(frozen=True)
class Sent:
    """A frame that a design has sent."""

    port: int
    frame: bytes
    first_cycle: int
    """Cycle of its first word."""
    cycle: int
    """Cycle of its last word."""
    wire_cycle: int
    """Cycle in which the last byte is on the line."""


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay."""

    cycles: int
    sent: Sequence[Sent]
    counters: Mapping[str, Mapping[str, int]]
    """Counts of each port, by name."""
    registers: Mapping[str, int]
    """All registers that can be read, at the end."""


def replay(
    library: Library,
    frames: Sequence[tuple[int, bytes]],
    *,
    seed: int = 1,
    every: int = 0,
    idle_cycles: int = 4096,
    line_rate: bool = True,
    settings: Iterable[tuple[int, int]] = (),
    trace: Path | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Replay:
    """Sends frames to a design, and runs it for `idle_cycles` after the last frame has moved.

    Args:
        frames: port and bytes of each; in order at each port.
        every: cycles from one frame to the next; 0: as fast as the lines and the design take them.
        line_rate: whether the ports have the line rates of the manifest.
        settings: addresses and values that are written before.
        trace: an FST file that records all signals; the library must have tracing.

    Raises `UsageError` for a frame that no port takes, and `NetkvError` for a design that fails.
    """
    manifest = library.manifest
    try:
        design = prepared(library, seed=seed, line_rate=line_rate, settings=settings)
        if trace is not None:
            design.trace_open(str(trace))
        sent: list[Sent] = []
        begin = design.cycle
        waiting = list(reversed(list(enumerate(frames))))
        quiet_at = design.cycle + idle_cycles
        while waiting or design.pending_rx or design.cycle < quiet_at:
            _queue(manifest, design, waiting, begin, every)
            busy = bool(waiting or design.pending_rx)
            left = idle_cycles if busy else quiet_at - design.cycle
            design.step(_CHUNK_CYCLES if waiting else left, until_frame=not waiting)
            found = [Sent(*each) for each in design.tx()]
            sent.extend(found)
            if found or busy:
                quiet_at = design.cycle + idle_cycles
            if progress is not None:
                progress(len(frames) - len(waiting), len(frames), f"cycle {design.cycle:,}")
        counters = {
            port.name: design.counters(number) for number, port in enumerate(manifest.ports)
        }
        cycles = design.cycle
        registers = read_registers(manifest, design.read_register)
        design.trace_close()
    except (RuntimeError, OSError) as error:
        raise NetkvError(str(error)) from error
    sent.sort(key=lambda each: (each.cycle, each.port))
    return Replay(cycles, sent, counters, registers)


def prepared(
    library: Library, *, seed: int, line_rate: bool, settings: Iterable[tuple[int, int]]
) -> _engine.FpgaDesign:
    """A new instance of a design: line rates are set, it takes frames, registers are written."""
    design = _engine.FpgaDesign(str(library.path), seed)
    manifest = library.manifest
    for number, port in enumerate(manifest.ports):
        rate = manifest.bits_per_1000_cycles(port) if line_rate else 0
        design.set_port(number, bits_per_1000_cycles=rate)
    if (ready := manifest.ready) is not None:
        _, address = manifest.register(ready.status)
        if not design.step_until_set(address, 1 << ready.bit, _READY_CYCLES):
            raise NetkvError(
                f"'{manifest.name}' takes no frames {_READY_CYCLES:,} cycles after its reset: bit "
                f"{ready.bit} of the register '{ready.status}' is 0."
            )
    for address, value in settings:
        design.write_register(address, value)
    return design


def read_registers(
    manifest: Manifest, read: Callable[[int], int], kind: str | None = None
) -> dict[str, int]:
    """The value of each register that can be read, by name; with `kind`, of those of a kind."""
    return {
        name: read(address)
        for register in manifest.registers
        if register.access != "wo" and kind in (None, register.kind)
        for name, address in register.addresses()
    }


def setting(manifest: Manifest, text: str) -> tuple[int, int]:
    """`NAME=VALUE` → address and value of a register; a value may have a name.

    Raises `UsageError`.
    """
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise UsageError(f"'{text}' is no register and value; it looks like mode=1.")
    register, address = manifest.register(name)
    if register.access == "ro":
        raise UsageError(f"The register '{name}' of '{manifest.name}' can only be read.")
    return address, _value(register, text, value)


def _value(register: Register, text: str, value: str) -> int:
    if value in register.values:
        return register.values[value]
    try:
        number = int(value, 0)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 32:
        names = f", or one of {', '.join(register.values)}" if register.values else ""
        raise UsageError(f"'{text}': a value is a number of 32 bits{names}.")
    return number


def _queue(
    manifest: Manifest,
    design: _engine.FpgaDesign,
    waiting: list[tuple[int, tuple[int, bytes]]],
    begin: int,
    every: int,
) -> None:
    """Queues frames at the ports, as many as fit."""
    room = design.describe()["max_queued"] // 2
    while waiting and design.pending_rx < room:
        number, (port, frame) = waiting.pop()
        if port >= len(manifest.ports):
            raise UsageError(
                f"Frame {number + 1} arrives at port {port}; '{manifest.name}' has the ports 0 to "
                f"{len(manifest.ports) - 1}."
            )
        try:
            design.rx(port, frame, begin + number * every)
        except ValueError as error:
            raise UsageError(f"Frame {number + 1}: {error}") from error


def to_json(manifest: Manifest, done: Replay) -> dict[str, Any]:
    """The document of `--json`."""
    return {
        "design": manifest.name,
        "cycles": done.cycles,
        "microseconds": done.cycles / manifest.clock_mhz,
        "sent": [
            {
                "port": manifest.ports[each.port].name,
                "frame": each.frame.hex(),
                "first_cycle": each.first_cycle,
                "cycle": each.cycle,
                "wire_cycle": each.wire_cycle,
            }
            for each in done.sent
        ],
        "counters": {name: dict(counts) for name, counts in done.counters.items()},
        "registers": dict(done.registers),
    }
