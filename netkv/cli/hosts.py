"""`netkv doctor --hosts`: machines for `--on ssh:FILE` and `lab.hosts`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from netkv.cli.output import notify, print_json, stdout

if TYPE_CHECKING:
    from netkv.executors.host_file import Host
    from netkv.executors.probe import Report

_SCENARIOS = (".yaml", ".yml")


def check(file: Path, wheel: Path | None, *, json: bool) -> None:
    """Prints what was found of the hosts of a file; ends the command with status 1 if one cannot be
    used. `wheel`: installed before on those that lack it."""
    from netkv.errors import NetkvError

    try:
        from netkv.executors import host_file, probe, provision
    except ModuleNotFoundError as error:
        raise NetkvError(
            "'--hosts' needs asyncssh, which is not installed. Install netkv[cluster]."
        ) from error
    hosts = _of_lab(file) if file.suffix in _SCENARIOS else host_file.read(str(file))
    if wheel is not None:
        notify(f"Installing {wheel.name}, which may take minutes.")
        for number, installed in enumerate(provision.install(hosts, wheel)):
            if isinstance(installed, str):
                notify(installed)
            else:
                notify(f"{installed.name} has it: netkv={installed.netkv}")
                hosts[number] = installed
    found = probe.reports(hosts)
    if json:
        print_json({"hosts": [asdict(each) for each in found]})
    else:
        _print(found)
    if any(each.problem is not None for each in found):
        raise typer.Exit(1)


def _of_lab(file: Path) -> list[Host]:
    """The hosts of a scenario's lab; raises `UsageError` if it has none."""
    from netkv.errors import UsageError
    from netkv.executors import host_file
    from netkv.scenarios import loader

    hosts = loader.load(file).lab.hosts
    if not hosts:
        raise UsageError(f"The lab of {file} has no 'hosts'.")
    return [host_file.parse(each.ssh, each.netkv) for each in hosts]


def _print(found: list[Report]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("host", "netkv", "cores", "memory", "clock", "datagram"):
        table.add_column(heading, justify="left" if heading in ("host", "netkv") else "right")
    for each in found:
        machine = each.machine
        table.add_row(
            each.name,
            each.netkv or "-",
            str(machine.get("processors", "-")),
            f"{machine['memory_bytes'] >> 30} GiB" if machine else "-",
            "-" if each.clock is None else _clock(each.clock.offset, each.clock.within),
            "none came back" if each.round_trip is None else f"{each.round_trip * 1e6:,.0f} us",
        )
    stdout().print(table)
    for each in found:
        if each.problem is not None:
            notify(each.problem)
    usable = sum(each.problem is None for each in found)
    notify(f"{usable} of {len(found)} hosts can be used.")


def _clock(offset: float, within: float) -> str:
    """`+1,234 ± 56 us`: how far it is ahead of this machine's."""
    return f"{offset * 1e6:+,.0f} ± {within * 1e6:,.0f} us"
