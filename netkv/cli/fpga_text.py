"""Display of designs on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.cli.output import stdout

if TYPE_CHECKING:
    from rich.table import Table

    from netkv.fpga.manifest import Band, Manifest


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
