"""Where the parts of a scheme are: `netkv scheme files`.

A scheme's parts have its name. An installed wheel has no source of the engine, no tests and no
documents.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netkv import resources
from netkv.schemes import registry
from netkv.schemes.scheme import Scheme


@dataclass(frozen=True)
class SchemeFile:
    """A file or folder of a scheme."""

    path: Path
    what: str
    shared: bool = False
    """Whether other schemes use it, too: a program or role of another name."""


def of(scheme: Scheme) -> list[SchemeFile]:
    """Those that exist, in the order in which one reads them."""
    return [file for file in _possible(scheme) if file.path.exists()]


def _possible(scheme: Scheme) -> Iterator[SchemeFile]:
    name, module = scheme.name, scheme.name.replace("-", "_")
    yield SchemeFile(_declaration(scheme), "declaration, options, control plane, metrics, cases")
    p4, fpga = resources.path("p4"), resources.path("fpga")
    programs = dict.fromkeys((scheme.program_path, *scheme.other_paths.values()))
    for folder in dict.fromkeys(path.parent for path in programs):
        shared = folder.name != module and folder.is_relative_to(p4)
        yield SchemeFile(folder, "programs of switches", shared)
    root = resources.checkout()
    if root is not None:
        roles = root / "engine" / "roles" / "src"
        yield SchemeFile(roles / module, "roles")
        for role in dict.fromkeys(host.role for host in scheme.hosts if host.role):
            for folder in (roles / role, roles / "kits" / role.replace("-", "_")):
                if folder != roles / module:
                    yield SchemeFile(folder, f"the role '{role}'", shared=True)
    yield SchemeFile(fpga / "designs" / f"{name}.toml", "design of its cards")
    yield SchemeFile(fpga / "rtl" / module, "RTL of its cards")
    yield SchemeFile(resources.path("scenarios") / module, "scenarios")
    if root is not None:
        docs, tests = root / "docs", root / "tests"
        yield SchemeFile(tests / "schemes" / module, "tests")
        yield from _documents(docs / "README.md", scheme.about.title)


def _documents(overview: Path, title: str) -> Iterator[SchemeFile]:
    """The documents in the row of a scheme in the overview of all documents."""
    for row in overview.read_text(encoding="utf-8").splitlines():
        titles, *cells = (cell.strip() for cell in row.strip("|").split("|"))
        if title in (names := titles.split(", ")):
            for cell in cells:
                for link in re.findall(r"\]\((schemes/[\w.-]+)\)", cell):
                    evaluation = link.endswith("-evaluation.md")
                    what = "figures beside those of the paper" if evaluation else "rules"
                    yield SchemeFile(overview.parent / link, what, shared=len(names) > 1)


def _declaration(scheme: Scheme) -> Path:
    """The folder of the package, or the file of the module, that declares a scheme."""
    found = importlib.util.find_spec(registry.catalogue().modules[scheme.name])
    assert found is not None
    assert found.origin is not None
    file = Path(found.origin)
    return file.parent if file.name == "__init__.py" else file
