"""`netkv switch`: runs the engine as a P4 switch, and opens a P4Runtime shell on a switch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkv.cli import p4_source
from netkv.cli.executor import EngineExecutor
from netkv.cli.output import Json, notify, print_json
from netkv.switch.ports import Ring

if TYPE_CHECKING:
    from netkv.switch.run import Running

app = typer.Typer(
    help="Run the engine as a P4 switch between interfaces, and control it.", no_args_is_help=True
)

DEFAULT_GRPC = "127.0.0.1:9559"
"""The port that is registered for P4Runtime."""

Grpc = Annotated[str, typer.Option(metavar="ADDRESS", help="Where the P4Runtime server listens.")]
DeviceId = Annotated[int, typer.Option(min=0, help="Device id of the switch in P4Runtime.")]


@app.command()
def run(
    program: p4_source.Program,
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N=PLACE",
            help="Port N is an interface (veth0 or NAMESPACE/veth0; root), or a UDP socket in "
            "which a datagram is a frame (udp:ADDRESS, or udp:ADDRESS,PEER). Repeatable.",
        ),
    ] = None,
    grpc: Grpc = DEFAULT_GRPC,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote", help="Allow a --grpc address that other machines can reach."
        ),
    ] = False,
    device_id: DeviceId = 1,
    cpu_port: Annotated[
        int, typer.Option(min=0, max=510, help="The port of packet-in and packet-out.")
    ] = 510,
    ring: Annotated[
        Ring,
        typer.Option(help="How frames of interfaces reach the engine: AF_XDP, AF_PACKET."),
    ] = "packet",
    pcap: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Record each port in DIR/port-N.pcapng."),
    ] = None,
    executor: Annotated[
        EngineExecutor, typer.Option(help="How the engine runs the P4 program.")
    ] = "compiled",
    pipelines: Annotated[int, typer.Option(help="Pipelines of the switch: 1, 2 or 4.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random().")] = 1,
    stop_on_assert: p4_source.StopOnAssert = False,
    include: p4_source.Includes = None,
    define: p4_source.Defines = None,
    json: Json = False,
) -> None:
    """Run a P4 program as a switch, until Ctrl-C; any P4Runtime controller can control it.

    docs/extend/bring-your-own-switch.md has an example with hosts, a program and a controller.
    """
    from netkv import resources
    from netkv.errors import UsageError
    from netkv.switch import ports
    from netkv.switch import run as switch

    if pipelines not in (1, 2, 4):
        raise UsageError(f"'--pipelines {pipelines}': a switch has 1, 2 or 4 pipelines.")
    host, tcp_port = switch.address(grpc, allow_remote=allow_remote)
    folders = [str(program.parent), *map(str, include or []), str(resources.path("p4"))]
    options = switch.Options(
        bundle=p4_source.compiled(program, include, define),
        include_dirs=folders,
        ports=ports.parse_all(port or [], cpu_port),
        ring=ring,
        host=host,
        tcp_port=tcp_port,
        device_id=device_id,
        cpu_port=cpu_port,
        pcap=pcap,
        executor=executor,
        pipelines=pipelines,
        seed=seed,
        stop_at_assertions=stop_on_assert,
    )

    def listening(running: Running) -> None:
        if json:
            print_json(running.to_json())
        for each in options.ports:
            notify(str(each))
        notify(
            f"{program} runs; P4Runtime is at {running.p4runtime}, device {device_id}. "
            f"Ctrl-C ends it.\n  netkv switch shell --grpc {running.p4runtime}"
            + (f" --device-id {device_id}" if device_id != 1 else "")
        )

    counts = switch.run(options, listening, notify)
    notify(
        f"{counts['received']:,} frames in, {counts['sent']:,} out; "
        f"{counts['receive_drops'] + counts['send_drops']:,} lost at the ports, "
        f"{counts['unrouted']:,} sent to ports that do not exist."
    )


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def shell(
    context: typer.Context,
    grpc: Grpc = DEFAULT_GRPC,
    device_id: DeviceId = 1,
    election_id: Annotated[
        int, typer.Option(min=1, help="The client with the highest id controls the switch.")
    ] = 1 << 64,
) -> None:
    """Open p4runtime-shell on a running switch; further options are those of the shell.

    The first time, uv creates an environment for it, because it needs other packages than netkv.
    """
    from netkv.switch import shell as p4runtime_shell

    words = p4runtime_shell.command(grpc, device_id, election_id, context.args)
    p4runtime_shell.replace(words)
