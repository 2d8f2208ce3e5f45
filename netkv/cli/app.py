"""The command-line application with all commands.

The module of a command is imported when the command is invoked or when help lists it. The modules
in turn import what they need when they run, so that `--help` is fast.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core
import typer.main

if TYPE_CHECKING:
    from typer._click.core import Command, Context, Parameter
    from typer._click.formatting import HelpFormatter

_SECTIONS: dict[str, dict[str, str]] = {
    "Experiments": {
        "scenario": "scenario:app",
        "scheme": "scheme:app",
        "runs": "runs:app",
        "evaluate": "evaluate:evaluate",
        "soak": "soak:soak",
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

_COMMANDS = {name: place for section in _SECTIONS.values() for name, place in section.items()}


_MAX_SENTENCE = 1_000
"""Characters of a command's first sentence in help: no limit in effect."""


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

    def sections(self) -> Mapping[str, Iterable[str]]:
        """The sections of help, with the names of their commands."""
        return {"Commands": self.commands}

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Writes the first sentence of each command, whole: click cuts it at the end of a line."""
        for title, names in self.sections().items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [
                (name, command.get_short_help_str(_MAX_SENTENCE))
                for name, command in found
                if command is not None and not command.hidden
            ]
            with formatter.section(title):
                formatter.write_dl(rows)


class _Application(_Group):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]  # nothing is added to it

    def sections(self) -> Mapping[str, Iterable[str]]:
        return _SECTIONS

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
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
