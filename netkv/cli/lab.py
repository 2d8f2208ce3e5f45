"""`netkv up`, `down`, `status` and `doctor`: labs that outlive a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from netkv.cli import completion
from netkv.cli.executor import Executor
from netkv.cli.output import Json, notify, print_json, stdout
from netkv.cli.target import Target

if TYPE_CHECKING:
    from rich.text import Text

    from netkv.labs.daemon import LabStatus
    from netkv.schemes.spec import RackSpec

Lab = Annotated[
    str | None,
    typer.Argument(metavar="[LAB]", help="Name of the lab.", autocompletion=completion.labs),
]

_STYLES = {
    "ready": "green",
    "ok": "green",
    "starting": "cyan",
    "warn": "yellow",
    "degraded": "yellow",
}


def up(
    lab: Lab = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            help="Scheme of the rack (default: the scenario's, or the first that caches).",
            autocompletion=completion.schemes,
        ),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            help="Take lab and workload from this scenario.", autocompletion=completion.scenarios
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change an option.",
            autocompletion=completion.changes,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random draws.")] = None,
    target: Target = None,
    executor: Executor = None,
    fabric: Annotated[
        Literal["udp", "veth"] | None,
        typer.Option(
            help="The links of the rack: UDP sockets (default), or network namespaces in which "
            "any program can use the network across the switch (root)."
        ),
    ] = None,
    topology: Annotated[
        Literal["rack", "racks", "spine-leaf"] | None,
        typer.Option(
            help="Switches of the rack: one, one for each of several racks, or layers (default: "
            "the scheme's); 'lab.topology' has their numbers."
        ),
    ] = None,
    foreground: Annotated[
        bool,
        typer.Option(help="Stay until Ctrl-C or SIGTERM, then take the lab down (containers)."),
    ] = False,
    json: Json = False,
) -> None:
    """Bring a lab up, and leave it up. Does nothing if the lab is up already.

    With --foreground the exit status is 0 after Ctrl-C or SIGTERM, and 1 if the lab ended by
    itself.
    """
    from netkv.labs import daemon
    from netkv.scenarios.lab_options import LabOptions

    name = lab or daemon.DEFAULT_LAB
    spec = LabOptions(
        scheme, scenario, changes or (), seed, target, executor, fabric, topology
    ).rack()
    if not foreground:
        _up(name, spec, json, f"'netkv down {name}' takes it down.")
        return
    try:
        _up(name, spec, json, "Ctrl-C takes it down.")
    except KeyboardInterrupt:
        daemon.down(name)
        return
    # From here on this command owns the lab and takes it down, however the command ends.
    try:
        daemon.watch(name)
    except KeyboardInterrupt:
        notify(f"Taking the lab '{name}' down.")
    finally:
        daemon.down(name)


def _up(name: str, spec: RackSpec, json: bool, end: str) -> None:
    """Brings a lab up and prints its status; `end` is the sentence on how to take it down."""
    from netkv.cli.progress import waiting
    from netkv.labs import daemon
    from netkv.live import veth

    with waiting(f"Lab '{name}'") as show:
        found = daemon.up(name, spec, notify, show)
    for warning in found.warnings:
        notify(warning)
    if json:
        print_json(found.to_json())
        return
    _print_status(found)
    notify(f"The lab '{name}' {'was up already' if found.already else 'is up'}. {end}")
    if spec.lab.fabric == "veth":
        notify(f"Its hosts are network namespaces: ip netns exec {veth.PREFIX}{name}-client bash")


def down(
    lab: Lab = None,
    every: Annotated[bool, typer.Option("--all", help="Take every lab down.")] = False,
    json: Json = False,
) -> None:
    """Take a lab down. No process, socket or file of it is left, also after a crash of netkv."""
    from netkv.labs import daemon
    from netkv.live import state, veth

    names = state.names() if every else [lab or daemon.DEFAULT_LAB]
    taken = {name: daemon.down(name) for name in names}
    veth.sweep()
    if json:
        print_json({"labs": [{"name": name, "was_up": was} for name, was in taken.items()]})
        return
    for name, was_up in taken.items():
        notify(f"The lab '{name}' {'is down' if was_up else 'was not up'}.")
    if not taken:
        notify("No lab is up.")


def status(lab: Lab = None, json: Json = False) -> None:
    """Show the labs and whether their nodes run.

    Exit status 1 if a node of a lab does not run, or its controller does not reach a switch.
    """
    from netkv.labs import daemon

    labs = [daemon.status(lab)] if lab else daemon.all_labs()
    if json:
        print_json({"labs": [each.to_json() for each in labs]})
    elif not labs:
        notify("No lab is up. 'netkv up' brings one up.")
    else:
        for each in labs:
            _print_status(each)
    if not all(each.state == "starting" or _serves(each) for each in labs):
        raise typer.Exit(1)


def doctor(
    hosts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Check the hosts of this file instead: SSH, netkv, datagrams, clocks.",
        ),
    ] = None,
    install: Annotated[
        Path | None,
        typer.Option(
            metavar="WHEEL",
            exists=True,
            dir_okay=False,
            help="With --hosts: install this wheel there, in an environment of its own.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check whether netkv can run on this machine, or on hosts. Exit status 1 if it cannot."""
    if hosts is not None:
        from netkv.cli import hosts as of_hosts

        of_hosts.check(hosts, install, json=json)
        return
    if install is not None:
        from netkv.errors import UsageError

        raise UsageError("'--install' needs '--hosts', the hosts on which to install the wheel.")
    from netkv.labs import doctor as checks

    found = checks.run()
    if json:
        print_json(
            {"healthy": checks.healthy(found), "checks": [check.to_json() for check in found]}
        )
    else:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=False, pad_edge=False)
        for check in found:
            word = Text(check.status, style=_STYLES.get(check.status, "bold red"))
            line = Text(check.text)
            if check.hint and check.status != "ok":
                line.append(f"\n{check.hint}", style="dim")
            table.add_row(word, Text(check.name, style="bold"), line)
        stdout().print(table)
        fit = checks.healthy(found)
        notify("netkv can run on this machine." if fit else "Runs will fail until these are fixed.")
    if not checks.healthy(found):
        raise typer.Exit(1)


def _serves(lab: LabStatus) -> bool:
    """Whether all nodes of a lab run, and its controller reaches all switches."""
    return lab.state == "ready" and "connecting" not in _controller_states(lab)


def _controller_states(lab: LabStatus) -> set[str]:
    """What the controller is to the switches: `primary`, `backup`, `connecting`."""
    if lab.controller is None:
        return set()
    return {each["state"] for each in lab.controller["switches"].values()}


def _print_status(lab: LabStatus) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("node")
    table.add_column("process", justify="right")
    table.add_column("state")
    hosts = [node["host"] for node in lab.nodes.values()]
    if any(hosts):
        table.add_column("host")
    for name, node in lab.nodes.items():
        runs = node["running"]
        word = Text("running", style="green") if runs else Text("not running", style="bold red")
        table.add_row(name, str(node["pid"]), word, *([node["host"] or ""] if any(hosts) else []))
    if lab.nodes:
        table.add_row(*_controller_row(lab))
    head = Text(f"{lab.name}  ", style="bold")
    head.append(lab.state, style=_STYLES.get(lab.state, "bold red"))
    head.append(f"  scheme {lab.scheme}, in {lab.directory}", style="dim")
    out = stdout()
    out.print(head, soft_wrap=True)
    if lab.text:
        out.print(Text(f"  {lab.text}"), soft_wrap=True)
    if lab.nodes:
        out.print(table)
    switches = lab.controller["switches"] if lab.controller is not None else {}
    for name, switch in switches.items():
        where = "" if len(switches) == 1 else f"{name}  "
        out.print(Text(f"P4Runtime  {where}{_p4runtime(switch)}", style="dim"), soft_wrap=True)


def _controller_row(lab: LabStatus) -> tuple[str, str, Text]:
    """The row of the controller, which runs in the supervisor's process."""
    from rich.text import Text

    controller = lab.controller
    if controller is None:
        from netkv.live import state

        known = lab.state in state.UP
        return "controller", "", Text("not running" if known else "unknown", style="bold red")
    pid, states = str(controller["pid"]), _controller_states(lab)
    if "backup" in states:
        return "controller", pid, Text("waiting: another client is primary", style="yellow")
    if "connecting" in states:
        return "controller", pid, Text("connecting: a switch does not answer", style="cyan")
    return "controller", pid, Text("running, primary", style="green")


def _p4runtime(switch: dict[str, Any]) -> str:
    """Address of the switch's P4Runtime server, and which client is primary."""
    text = f"{switch['p4runtime']}, device {switch['device_id']}"
    if switch["primary"]:
        return f"{text}, election id {switch['election_id']} (the lab's controller)"
    if switch["other_election_id"] is not None:
        return f"{text}, election id {switch['other_election_id']} (another client)"
    return text
