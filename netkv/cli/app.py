"""The command-line application with all commands.

The module of a command is imported when the command is invoked or when help lists it. The modules
in turn import what they need when they run, so that `--help` is fast.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core
import typer.main

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter

_COMMANDS = {
    "scenario": "scenario:app",
    "scheme": "scheme:app",
    "runs": "runs:app",
    "p4": "p4:app",
    "switch": "switch:app",
    "fpga": "fpga:app",
    "bench": "bench:app",
    "evaluate": "evaluate:evaluate",
    "soak": "soak:soak",
    "calibrate": "calibrate:calibrate",
    "serve": "serve:serve",
    "token": "serve:token",
    "jobs": "jobs:app",
    "gateway": "gateway:gateway",
    "up": "lab:up",
    "down": "lab:down",
    "status": "lab:status",
    "logs": "logs:logs",
    "node": "node:app",
    "doctor": "lab:doctor",
}
"""Name of a command, in the order of help → its module in `netkv.cli`, and the group of commands or
the function in it."""


class _Commands(Mapping[str, Any]):
    """The commands by name; each is built when it is used."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = _build(name, *_COMMANDS[name].split(":"))
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in _COMMANDS

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


def _quick(options: list[Parameter]) -> list[Parameter]:
    """Makes flags of typer's own False by default.

    Their default is None, and to convert None typer imports pydantic. That takes longer than all
    else that a command like `scenario list` does.
    """
    for option in options:
        if option.name in ("help", "install_completion", "show_completion"):
            option.default = False
    return options


class _Command(typer.core.TyperCommand):
    def get_params(self, ctx: Context) -> list[Parameter]:
        return _quick(super().get_params(ctx))


class _Group(typer.core.TyperGroup):
    def get_params(self, ctx: Context) -> list[Parameter]:
        return _quick(super().get_params(ctx))


class _Application(_Group):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]  # nothing is added to it


app = typer.Typer(
    name="netkv",
    cls=_Application,
    help="A testbed for in-network acceleration of key-value stores.",
    no_args_is_help=True,
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
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """A testbed for in-network acceleration of key-value stores."""


def _build(name: str, module: str, attribute: str) -> Any:
    found = getattr(importlib.import_module(f"netkv.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        found.rich_markup_mode = None
        found.info.cls = _Group
        for command in found.registered_commands:
            command.cls = _Command
        group = typer.main.get_group(found)
        group.name = name
        return group
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, cls=_Command)(found)
    return typer.main.get_command(single)
