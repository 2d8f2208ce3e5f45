"""The other long commands as jobs: they search for faults, or measure this machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from netkv.api.errors import NotFoundError
from netkv.api.jobs.commands import Command, function
from netkv.errors import suggest


@dataclass(frozen=True)
class Tool:
    """A long command."""

    id: str
    """Its name in the API."""
    name: str
    """Its command below `netkv`."""
    place: str
    """The function of the command, `module:function`."""
    options: tuple[str, ...]
    """The parameters that a request can have. Others name files or programs of the machine."""
    seconds: float | None
    """With its default options, about; None if that depends on the machine."""

    @cached_property
    def command(self) -> Command:
        """Its options, and its command line."""
        return Command(self.name, function(self.place), self.options)


TOOLS = (
    Tool(
        "soak",
        "soak",
        "netkv.cli.soak:soak",
        ("scheme", "seeds", "first", "seconds", "mutant", "patience", "jobs"),
        None,
    ),
    Tool(
        "p4-fuzz",
        "p4 fuzz",
        "netkv.cli.p4_fuzz:fuzz",
        ("seeds", "seconds", "packets", "seed", "generated", "threads"),
        60,
    ),
    Tool("calibrate", "calibrate", "netkv.cli.calibrate:calibrate", (), 30),
)


def find(name: str) -> Tool:
    """The tool of that name; raises `NotFoundError`."""
    known = {each.id: each for each in TOOLS}
    if name not in known:
        raise NotFoundError(f"There is no tool '{name}'. {suggest(name, known, label='Tools')}")
    return known[name]
