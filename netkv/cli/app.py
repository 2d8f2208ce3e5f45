"""The command-line application with all commands.

The module of a command is imported when the command is invoked or when help lists it. The modules
in turn import what they need when they run, so that `--help` is fast.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main

from netkv.cli.groups import Command, Commands, Group, built

if TYPE_CHECKING:
    from typer._click.core import Command as AnyCommand
    from typer._click.core import Context

_SECTIONS: dict[str, dict[str, str]] = {
    "Experiments": {
        "scenario": "scenario:app",
        "scheme": "scheme:app",
        "runs": "runs:app",
        "reproduce": "reproduce:reproduce",
        "soak": "soak:soak",
        "worker": "worker:worker",
    },
    "Labs that stay up": {
        "up": "lab:up",
        "down": "lab:down",
        "status": "lab:status",
        "logs": "logs:logs",
        "node": "node:app",
        "gateway": "gateway:gateway",
    },
    "Dashboard and API": {
        "serve": "serve:serve",
        "token": "serve:token",
        "jobs": "jobs:app",
    },
    "Data planes": {
        "p4": "p4:app",
        "switch": "switch:app",
        "fpga": "fpga:app",
    },
    "This machine": {
        "doctor": "lab:doctor",
        "bench": "bench:app",
        "calibrate": "calibrate:calibrate",
    },
}
"""Sections of help, and in each the name of a command → its module in `netkv.cli`, and the group of
commands or the function in it."""

_FIRST_STEPS = """\
netkv is a testbed for in-network acceleration of key-value stores. First steps:

  netkv scenario run quickstart   Compare a rack of this machine without and with a cache.
  netkv serve --open              Open the dashboard: scenarios, runs, figures, racks.
  netkv --help                    List all commands. The documents are in docs/ of the source
                                  code; docs/learn/first-session.md is the first one.
"""
"""What `netkv` without a command prints."""

_COMMANDS = {name: place for section in _SECTIONS.values() for name, place in section.items()}


class _Application(Group):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands(lambda: _COMMANDS, _build)  # type: ignore[assignment]  # read only

    def sections(self) -> Mapping[str, Iterable[str]]:
        return _SECTIONS

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, AnyCommand | None, list[str]]:
        """Suggests the groups that have a command of this name: 'netkv scenario run' for 'run'."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            groups = [
                name
                for name in self.commands
                if args[0] in getattr(self.commands[name], "commands", ())
            ]
            if groups:
                suggested = " or ".join(f"'netkv {group} {args[0]}'" for group in groups)
                ctx.fail(f"No such command '{args[0]}'. Did you mean {suggested}?")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="netkv",
    cls=_Application,
    help="A testbed for in-network acceleration of key-value stores.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        from netkv import __version__

        print(f"netkv {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  its callback prints it
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """A testbed for in-network acceleration of key-value stores."""
    if context.invoked_subcommand is None:
        print(_FIRST_STEPS, end="")


def _build(name: str) -> Any:
    module, attribute = _COMMANDS[name].split(":")
    found = getattr(importlib.import_module(f"netkv.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        return built(name, found)
    found.rich_markup_mode = None
    if not isinstance(found.info.cls, type):
        found.info.cls = Group
    for command in found.registered_commands:
        command.cls = Command
    group = typer.main.get_group(found)
    group.name = name
    return group
