"""`netkv fpga`: designs for FPGAs, simulated cycle by cycle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from netkv.cli import completion
from netkv.cli.output import Json, notify, print_json, stdout

if TYPE_CHECKING:
    from netkv.fpga.build import Library
    from netkv.model.manifest import Manifest

app = typer.Typer(help="Build, run and measure designs for FPGAs.", no_args_is_help=True)

Design = Annotated[
    str,
    typer.Argument(
        metavar="DESIGN",
        help="Name of a design, or the path of a manifest (.toml).",
        autocompletion=completion.designs,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a parameter, clock_mhz or word_bytes. Repeatable.",
    ),
]


Frames = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="In virtual time: lines 'PORT HEXBYTES' (# starts a comment), the packets of an STF "
        "file, or a pcap (at port 0).",
    ),
]
Every = Annotated[
    int, typer.Option(min=0, help="Cycles from one frame of the file to the next (0: none).")
]
Write = Annotated[
    list[str] | None,
    typer.Option(metavar="REGISTER=VALUE", help="Write a register. Repeatable."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of memory models.")]
LineRate = Annotated[
    bool | None,
    typer.Option(
        "--line-rate/--no-line-rate",
        help="Whether ports have the line rates of the manifest (default: not with --live).",
    ),
]
IdleCycles = Annotated[
    int, typer.Option(min=1, help="Cycles that the clock runs after the last frame.")
]


@app.command("list")
def list_designs(json: Json = False) -> None:
    """List the designs."""
    from netkv.fpga import build
    from netkv.fpga.tools import MissingToolError
    from netkv.model import manifest

    designs = [manifest.load(file) for file in manifest.files().values()]
    problem = None
    try:
        built = build.built(designs)
    except MissingToolError as error:
        built, problem = {}, str(error)
    if json:
        found = [
            {
                "name": each.name,
                "title": each.title,
                "top": each.top,
                "clock_mhz": each.clock_mhz,
                "ports": len(each.ports),
                "built": built.get(each.name, False),
            }
            for each in designs
        ]
        print_json({"designs": found, "problem": problem})
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("name", style="bold", no_wrap=True)
    for heading in ("title", "clock", "ports", "built"):
        table.add_column(heading)
    for each in designs:
        table.add_row(
            each.name,
            each.title,
            f"{each.clock_mhz:g} MHz",
            str(len(each.ports)),
            "yes" if built.get(each.name) else "no",
        )
    stdout().print(table)
    if problem is not None:
        notify(problem)


@app.command()
def info(design: Design, change: Set = None, json: Json = False) -> None:
    """Show a design: parameters, ports, memories, registers, expected resources."""
    manifest = _manifest(design, change)
    if json:
        print_json({**manifest.model_dump(mode="json"), "parameters": manifest.module_parameters})
        return
    from netkv.cli import fpga_text

    fpga_text.show(manifest)


@app.command()
def build(
    design: Design,
    change: Set = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Build it so that it can record signals.")
    ] = False,
    json: Json = False,
) -> None:
    """Translate a design to C++ and compile it to a shared library; nothing if it is cached."""
    library = built(_manifest(design, change), trace=trace)
    if json:
        print_json(
            {
                "design": library.manifest.name,
                "library": str(library.path),
                "trace": library.trace,
                "cached": library.cached,
                "seconds": library.seconds,
            }
        )
        return
    print(library.path)
    cached = " (cached)" if library.cached else ""
    notify(f"{library.manifest.name}: built in {library.seconds:.1f} s{cached}.")


@app.command()
def run(
    design: Design,
    live: Annotated[
        bool, typer.Option("--live", help="Between real links, until Ctrl-C (see --port).")
    ] = False,
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PLACE",
            help="With --live: a port is an interface (veth0 or NAMESPACE/veth0; root), a TAP "
            "device (tap:DEVICE; root), a UDP socket in which a datagram is a frame "
            "(udp:ADDRESS, or udp:ADDRESS,PEER), or for a virtio function the socket of a guest "
            "(vhost:SOCKET). Repeatable.",
        ),
    ] = None,
    frames: Frames = None,
    every: Every = 0,
    write: Write = None,
    change: Set = None,
    seed: Seed = 1,
    line_rate: LineRate = None,
    idle_cycles: IdleCycles = 4096,
    ring: Annotated[
        Literal["xdp", "packet", "packet-v3"],
        typer.Option(help="How frames of interfaces reach the design: AF_XDP, AF_PACKET."),
    ] = "packet",
    name: Annotated[
        str | None,
        typer.Option(help="With --live: name for 'netkv fpga registers' (default: the design)."),
    ] = None,
    json: Json = False,
) -> None:
    """Run a design: on a file of frames in virtual time, or live between real links."""
    from netkv.errors import UsageError
    from netkv.fpga import replay

    if live == (frames is not None):
        raise UsageError("Say what the design gets: --frames FILE, or --live and --port.")
    manifest = _manifest(design, change)
    settings = [replay.setting(manifest, text) for text in write or []]
    if frames is not None:
        library = built(manifest)
        _replay(library, frames, every, settings, seed, line_rate, idle_cycles, None, json)
        return
    from netkv.fpga import live as running
    from netkv.fpga import ports

    places = ports.parse_all(manifest, port or [], ring)
    options = running.Options(
        library=built(manifest),
        name=name or manifest.name,
        places=places,
        seed=seed,
        idle_cycles=idle_cycles,
        line_rate=bool(line_rate),
        settings=settings,
    )
    running.directory(options.name)  # checks the name

    def listening() -> None:
        if json:
            shown = {place.name: place.text for place in places}
            print_json({"design": manifest.name, "name": options.name, "ports": shown})
        for place in places:
            notify(f"port {place.name}: {place.text}")
        notify(
            f"{manifest.name} runs as '{options.name}'. Ctrl-C ends it.\n"
            f"  netkv fpga registers {design} --live"
            + (f" --name {options.name}" if options.name != manifest.name else "")
        )

    counts = running.run(options, listening, notify)
    lost = counts["receive_drops"] + counts["send_drops"] + counts["refused"]
    notify(
        f"{counts['received']:,} frames in, {counts['sent']:,} out; {lost:,} lost at the ports, "
        f"{counts['unconnected']:,} sent to ports without a place; {counts['cycles']:,} cycles."
    )


@app.command()
def wave(
    design: Design,
    frames: Annotated[
        Path, typer.Argument(metavar="FRAMES", help="Lines 'PORT HEXBYTES', an STF file, a pcap.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE.fst", help="The file of waves.")
    ],
    every: Every = 0,
    write: Write = None,
    change: Set = None,
    seed: Seed = 1,
    line_rate: LineRate = None,
    idle_cycles: IdleCycles = 256,
    json: Json = False,
) -> None:
    """Run a file of frames and record every signal, for GTKWave or Surfer."""
    from netkv.fpga import replay

    manifest = _manifest(design, change)
    settings = [replay.setting(manifest, text) for text in write or []]
    library = built(manifest, trace=True)
    _replay(library, frames, every, settings, seed, line_rate, idle_cycles, out, json)
    notify(f"{out} has the waves; a cycle is 10 units of time.")


@app.command()
def synth(design: Design, change: Set = None, json: Json = False) -> None:
    """Synthesise a design with yosys. Exit status 1 if a resource is out of its band."""
    from netkv.cli import fpga_text
    from netkv.cli.progress import steps
    from netkv.fpga import synth

    manifest = _manifest(design, change)
    with steps() as show:
        found = synth.synthesise(manifest, show)
    verdicts = synth.verdicts(manifest, found)
    if json:
        print_json({**found.to_json(), "resources": verdicts})
    else:
        fpga_text.show_synthesis(found, verdicts)
    if not all(each["ok"] for each in verdicts.values()):
        raise typer.Exit(1)


@app.command()
def registers(
    design: Design,
    live: Annotated[
        bool, typer.Option("--live", help="Read them from the design that runs.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="Name of the running design (default: the design).")
    ] = None,
    write: Write = None,
    json: Json = False,
) -> None:
    """Show the registers of a design; with --live their values, with --write set them before."""
    from netkv.cli import fpga_text
    from netkv.fpga import live as running
    from netkv.fpga import replay

    manifest = _manifest(design, None)
    if not live and not write and name is None:
        if json:
            found = [each.model_dump(mode="json") for each in manifest.registers]
            print_json({"design": manifest.name, "registers": found})
        else:
            fpga_text.show_registers(manifest)
        return
    node = name or manifest.name
    for text in write or []:
        address, value = replay.setting(manifest, text)
        running.request(node, {"do": "write", "address": address, "value": value})
    values = running.request(node, {"do": "registers"})["registers"]
    if json:
        print_json({"design": manifest.name, "name": node, "registers": values})
    else:
        fpga_text.show_registers(manifest, values)


def _replay(
    library: Library,
    file: Path,
    every: int,
    settings: list[tuple[int, int]],
    seed: int,
    line_rate: bool | None,
    idle_cycles: int,
    trace: Path | None,
    json: bool,
) -> None:
    from netkv.cli import fpga_text
    from netkv.cli.frames import read
    from netkv.fpga import replay

    done = replay.replay(
        library,
        read(file, 0),
        seed=seed,
        every=every,
        idle_cycles=idle_cycles,
        line_rate=line_rate is not False,
        settings=settings,
        trace=trace,
    )
    if json:
        print_json(replay.to_json(library.manifest, done))
    else:
        fpga_text.show_replay(library.manifest, done)


def built(manifest: Manifest, *, trace: bool = False) -> Library:
    """The library of a design; shows the progress of a build."""
    from netkv.cli.progress import steps
    from netkv.fpga import build

    with steps() as show:
        return build.build(manifest, trace=trace, progress=show)


def _manifest(design: str, change: list[str] | None) -> Manifest:
    from netkv.model import manifest

    found = manifest.find(design)
    return manifest.override(found, change) if change else found
