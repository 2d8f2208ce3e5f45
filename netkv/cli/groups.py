"""Commands and groups of commands that take little to start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer
import typer.core
import typer.main

if TYPE_CHECKING:
    from typer._click.core import Command as AnyCommand
    from typer._click.core import Context, Parameter
    from typer._click.formatting import HelpFormatter

_MAX_SENTENCE = 1_000
"""Characters of a command's first sentence in help: no limit in effect."""


class Commands(Mapping[str, Any]):
    """Commands by name; each is built when it is used."""

    def __init__(self, names: Callable[[], Iterable[str]], build: Callable[[str], Any]) -> None:
        self._names = names
        self._build = build
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        if name not in self._built:
            self._built[name] = self._build(name)
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in list(self._names())

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(list(self._names()))


def built(name: str, function: Callable[..., Any]) -> AnyCommand:
    """The command of a function with typer's declarations."""
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, cls=Command)(function)
    return typer.main.get_command(single)


def _quick(options: list[Parameter]) -> list[Parameter]:
    """Makes flags of typer's own False by default.

    Their default is None, and to convert None typer imports pydantic. That takes longer than all
    else that a command like `scenario list` does.
    """
    for option in options:
        if option.name in ("help", "install_completion", "show_completion"):
            option.default = False
    return options


class Command(typer.core.TyperCommand):
    def get_params(self, ctx: Context) -> list[Parameter]:
        return _quick(super().get_params(ctx))


class Group(typer.core.TyperGroup):
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
