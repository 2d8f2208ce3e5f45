"""Display of designs on stdout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from netkv.cli.output import stdout

if TYPE_CHECKING:
    from rich.table import Table

    from netkv.fpga.replay import Replay
    from netkv.fpga.synth import Synthesis
    from netkv.model.manifest import Band, Manifest

_MAX_FRAMES = 40
_FRAME_BYTES = 24


def show(manifest: Manifest) -> None:
    """Prints what a manifest says."""
    from rich.text import Text

    out = stdout()
    out.print(Text(manifest.title, style="bold"))
    if manifest.description:
        out.print(manifest.description, highlight=False)
    parameters = ", ".join(f"{name}={value}" for name, value in manifest.module_parameters.items())
    facts = _plain()
    for what, value in (
        ("top module", manifest.top),
        ("parameters", parameters),
        ("clock", f"{manifest.clock_mhz:g} MHz, {manifest.word_bytes} bytes a cycle at each port"),
    ):
        facts.add_row(Text(what, style="dim"), value)
    for name in ("lut", "ff", "bram"):
        if (band := getattr(manifest.resources, name)) is not None:
            facts.add_row(Text(name.upper(), style="dim"), _band(band))
    out.print(facts)
    ports = _table("port", "number", "kind", "line rate")
    for number, port in enumerate(manifest.ports):
        rate = "none" if port.rate_gbps is None else f"{port.rate_gbps:g} Gbit/s"
        ports.add_row(port.name, str(number), port.kind, rate)
    out.print(ports)
    if manifest.memories:
        memories = _table("memory", "model", "description")
        for memory in manifest.memories:
            memories.add_row(memory.name, memory.model, memory.description)
        out.print(memories)
    if manifest.registers:
        show_registers(manifest)


def show_registers(manifest: Manifest, values: dict[str, int] | None = None) -> None:
    """Prints the registers, with their values if there are some."""
    columns = ("register", "address", "access", "kind", "description")
    if values is not None:
        columns = ("register", "address", "value", "kind", "description")
    table = _table(*columns)
    for register in manifest.registers:
        if values is None:
            name = (
                register.name if register.count == 1 else f"{register.name}.0-{register.count - 1}"
            )
            cells = [name, f"{register.address:#06x}", register.access]
            table.add_row(*cells, register.kind, register.description)
            continue
        named = {value: name for name, value in register.values.items()}
        for name, address in register.addresses():
            if name in values:
                value = values[name]
                meaning = f" ({named[value]})" if value in named else ""
                cells = [name, f"{address:#06x}", f"{value}{meaning}"]
                table.add_row(*cells, register.kind, register.description)
    stdout().print(table)


def show_replay(manifest: Manifest, done: Replay) -> None:
    """Prints the frames that a design has sent, and the counts of its ports."""
    out = stdout()
    if done.sent:
        table = _table("port", "first word", "last word", "on the line", "bytes", "frame")
        for sent in done.sent[:_MAX_FRAMES]:
            table.add_row(
                manifest.ports[sent.port].name,
                *(f"{cycle:,}" for cycle in (sent.first_cycle, sent.cycle, sent.wire_cycle)),
                str(len(sent.frame)),
                _hex(sent.frame),
            )
        out.print(table)
        if len(done.sent) > _MAX_FRAMES:
            out.print(f"and {len(done.sent) - _MAX_FRAMES:,} more (--json has all)")
    else:
        out.print("The design has sent no frame.")
    names = ("rx_frames", "rx_drops", "rx_stalls", "tx_frames", "tx_drops", "tx_stalls")
    table = _table("port", *(name.replace("_", " ") for name in names))
    for port, counts in done.counters.items():
        table.add_row(port, *(f"{counts[name]:,}" for name in names))
    out.print(table)
    microseconds = done.cycles / manifest.clock_mhz
    out.print(f"{done.cycles:,} cycles, {microseconds:,.2f} us at {manifest.clock_mhz:g} MHz")


def show_synthesis(found: Synthesis, verdicts: Mapping[str, Mapping[str, Any]]) -> None:
    """Prints the resources of a design beside what is expected."""
    table = _table("resource", "found", "expected", "paper", "")
    for name, each in verdicts.items():
        expected, paper = each["expected"], each["paper"]
        band = "" if expected is None else f"{expected:g} ± {100 * each['tolerance']:g} %"
        table.add_row(
            name.upper(),
            f"{each['found']:g}",
            band,
            "" if paper is None else f"{paper:g}",
            "" if expected is None else "ok" if each["ok"] else "out of its band",
        )
    stdout().print(table)
    if found.latches:
        stdout().print(f"{found.latches} latches: the design has none if it is right")


def _hex(frame: bytes) -> str:
    text = frame[:_FRAME_BYTES].hex()
    return text if len(frame) <= _FRAME_BYTES else f"{text}..."


def _band(band: Band) -> str:
    text = f"{band.expected:g}"
    if band.tolerance:
        text += f" ± {100 * band.tolerance:g} %"
    return text if band.paper is None else f"{text} (paper: {band.paper:g})"


def _plain() -> Table:
    from rich.table import Table

    return Table(box=None, show_header=False, pad_edge=False)


def _table(first: str, *others: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(first, style="bold", no_wrap=True)
    for heading in others:
        table.add_column(heading)
    return table
