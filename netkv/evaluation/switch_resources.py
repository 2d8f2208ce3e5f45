"""What papers report of the resources that their programs take of a switch.

The figures are those of `netkv/data/papers/switch-resources.json`, by the program of netkv that
does the same.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from netkv import resources

Pipeline: TypeAlias = Literal["ingress", "egress"]
FILE = "switch-resources.json"


@dataclass(frozen=True)
class Reported:
    """A paper's figures for one scheme, by the name of the resource."""

    name: str
    """The scheme, as the paper writes it."""
    file: str
    """netkv's program, as a path below the folder of programs."""
    ingress: dict[str, int]
    egress: dict[str, int]


@dataclass(frozen=True)
class Source:
    """A place in a paper, with its figures."""

    source: str
    papers: tuple[str, ...]
    """The evaluations that are about the paper (`netkv.evaluation.names`)."""
    tables: dict[Pipeline, str]
    """What the paper calls the figures of a pipeline; it reports none of the others."""
    sizes: str
    """With which sizes of tables and registers both were compiled."""
    programs: tuple[Reported, ...]


@functools.cache
def sources() -> tuple[Source, ...]:
    """All places, in the order of the file."""
    content = json.loads((resources.path("papers") / FILE).read_text(encoding="utf-8"))
    columns = content["columns"]

    def figures(row: list[int | None] | None) -> dict[str, int]:
        named = zip(columns, row or [None] * len(columns), strict=True)
        return {name: figure for name, figure in named if figure is not None}

    def program(found: dict[str, Any]) -> Reported:
        own = {pipeline: figures(found[pipeline]) for pipeline in ("ingress", "egress")}
        return Reported(found["name"], found["file"], **own)

    return tuple(
        Source(
            source=each["source"],
            papers=tuple(each["papers"]),
            tables=each["tables"],
            sizes=each["sizes"],
            programs=tuple(map(program, each["programs"])),
        )
        for each in content["sources"]
    )


def of_program(file: Path) -> tuple[Source, Reported] | None:
    """The figures for a program with this folder and name; None: no paper has some."""
    name = "/".join(file.resolve().parts[-2:])
    for source in sources():
        for program in source.programs:
            if program.file == name:
                return source, program
    return None
