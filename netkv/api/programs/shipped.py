"""The P4 programs that ship with netkv: those of its schemes, by name."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netkv import resources, schemes
from netkv.api.models.programs import (
    BudgetPaper,
    ProgramBudget,
    ProgramInterface,
    ProgramSummary,
    ProgramUse,
)
from netkv.api.programs import compiling, interface
from netkv.errors import UsageError, suggest

if TYPE_CHECKING:
    from netkv.model.network import Tier
    from netkv.schemes import Scheme

SOURCE = "source"
"""The name that stands for a program in the body of a request."""


@dataclass(frozen=True)
class Shipped:
    """A program that ships."""

    name: str
    """`NAME` for `NAME/NAME.p4`, else `FOLDER-FILE`."""
    file: Path
    uses: tuple[tuple[Scheme, Tier], ...]
    """The schemes that use it, in their order, with the tiers of its switches."""

    @property
    def path(self) -> str:
        """Its path below the folder of programs."""
        return self.file.relative_to(resources.path("p4")).as_posix()


def programs() -> dict[str, Shipped]:
    """All programs by name, in the order of their schemes."""
    folder = resources.path("p4")
    uses: dict[Path, list[tuple[Scheme, Tier]]] = {}
    for scheme in schemes.all_schemes():
        files: dict[Tier, Path] = {"servers": scheme.program_path, **scheme.other_paths}
        for tier, file in files.items():
            if file.is_relative_to(folder):
                uses.setdefault(file, []).append((scheme, tier))
    found = (Shipped(_name(file), file, tuple(used)) for file, used in uses.items())
    return {each.name: each for each in found}


def program(name: str) -> Shipped:
    """The program of that name; raises `UsageError`."""
    known = programs()
    if (found := known.get(name)) is None:
        raise UsageError(
            f"There is no P4 program '{name}'. {suggest(name, known, label='Programs')}"
        )
    return found


def defines(of: Shipped) -> dict[str, str]:
    """The macros with which a program is compiled for a lab with the default options."""
    from netkv.schemes.spec import LabSpec

    scheme, _ = of.uses[0]
    return dict(scheme.programs.defines(scheme.with_topology(LabSpec())))


def compiled(of: Shipped, macros: Mapping[str, str]) -> bytes:
    """The bundle of a program. Raises `NetkvError`."""
    from netkv.schemes.scheme import compile_program

    return compile_program(of.file, macros)


def summary(of: Shipped) -> ProgramSummary:
    """The description of a program."""
    return ProgramSummary(
        **_interface(of.file, changed(of.file)).model_dump(),
        name=of.name,
        file=of.path,
        schemes=[ProgramUse(scheme=scheme.name, tier=tier) for scheme, tier in of.uses],
        defines=defines(of),
    )


def sources(files: list[str]) -> dict[str, str]:
    """The texts of these files below the folder of programs."""
    folder = resources.path("p4")
    return {file: (folder / file).read_text(encoding="utf-8") for file in files}


def p4info(of: Shipped) -> dict[str, Any]:
    """The P4Info, as p4c writes it."""
    from google.protobuf.json_format import MessageToDict

    from netkv.p4rt import p4info

    found: dict[str, Any] = MessageToDict(
        p4info.as_p4c(compiled(of, defines(of))), preserving_proto_field_name=True
    )
    return found


def budget(of: Shipped) -> ProgramBudget:
    """The estimate of `netkv p4 info --budget`."""
    from netkv import _engine
    from netkv.report import budget as report

    found = _engine.p4_budget(compiled(of, defines(of)))
    paper = report.paper_of(of.file)
    pipelines = [found[name] for name in report.PIPELINES]
    return ProgramBudget(
        fits=not any(each["warnings"] or each["exceeded"] for each in pipelines),
        target=found["target"],
        ingress=dict(found["ingress"]),
        egress=dict(found["egress"]),
        paper=None if paper is None else BudgetPaper(**paper),
    )


def _name(file: Path) -> str:
    return file.stem if file.stem == file.parent.name else f"{file.parent.name}-{file.stem}"


def changed(file: Path) -> float:
    """When the folder of a program or the shared one was changed, for programs being edited."""
    folders = (file.parent, resources.path("p4") / "common")
    return max(each.stat().st_mtime for folder in folders for each in folder.glob("*.p4"))


@functools.lru_cache(maxsize=64)
def _interface(file: Path, changed: float) -> ProgramInterface:  # noqa: ARG001 (a part of the key)
    of = next(each for each in programs().values() if each.file == file)
    return interface.of(compiled(of, defines(of)), compiling.shown)
