"""Where the parts of a scheme are: `netkv scheme files`.

A scheme's parts have its name, and their sources name the kits that they use. An installed wheel
has no source of the engine, no tests and no documents.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netkv import resources, rtl_sources
from netkv.model import manifest
from netkv.schemes import kits_used, registry
from netkv.schemes.scheme import Scheme
from netkv.schemes.spec import LabSpec


@dataclass(frozen=True)
class SchemeFile:
    """A file or folder of a scheme."""

    path: Path
    what: str
    shared: bool = False
    """Whether other schemes may use it, too: a kit, or what has another name."""


def of(scheme: Scheme) -> list[SchemeFile]:
    """Those that exist, in the order in which one reads them."""
    return [file for file in _possible(scheme) if file.path.exists()]


def _possible(scheme: Scheme) -> Iterator[SchemeFile]:
    module = scheme.name.replace("-", "_")
    declaration = _declaration(scheme)
    yield SchemeFile(declaration, "declaration, options, control plane, metrics, cases")
    for kit in kits_used.of_python(declaration):
        yield SchemeFile(kit, "kit", shared=True)
    yield from _programs(scheme, module)
    root = resources.checkout()
    if root is not None:
        yield from _roles(scheme, module, root / "engine" / "roles" / "src")
    yield from _cards(scheme, module)
    yield SchemeFile(resources.path("scenarios") / module, "scenarios")
    if root is not None:
        docs, tests = root / "docs", root / "tests"
        yield SchemeFile(tests / "schemes" / module, "tests")
        yield from _documents(docs / "README.md", scheme.about.title)


def _programs(scheme: Scheme, module: str) -> Iterator[SchemeFile]:
    programs = dict.fromkeys((scheme.program_path, *scheme.other_paths.values()))
    folders = dict.fromkeys(path.parent for path in programs)
    for folder in folders:
        shared = folder.name != module and folder.is_relative_to(resources.path("p4"))
        yield SchemeFile(folder, "programs of switches", shared)
    for folder in kits_used.of_programs(programs):
        if folder not in folders:
            yield SchemeFile(folder, "included by its programs", shared=True)


def _roles(scheme: Scheme, module: str, source: Path) -> Iterator[SchemeFile]:
    """Its roles in the folder `source` of the engine, and the kits that they use."""
    yield SchemeFile(source / module, "roles")
    folders = [source / module]
    for role in dict.fromkeys(host.role for host in scheme.hosts if host.role):
        for folder in (source / role, source / "kits" / role.replace("-", "_")):
            if folder != source / module:
                yield SchemeFile(folder, f"the role '{role}'", shared=True)
                folders.append(folder)
    for kit in kits_used.of_roles(folders, source / "kits"):
        if kit not in folders:
            yield SchemeFile(kit, "used by its roles", shared=True)


def _cards(scheme: Scheme, module: str) -> Iterator[SchemeFile]:
    """The design of its cards, and the folders with the RTL of that."""
    if scheme.card is None:
        return
    design = scheme.card(LabSpec()).design
    file = manifest.files().get(design, Path(design))
    rtl = manifest.find(design)
    yield SchemeFile(file, "design of its cards", shared=rtl.name != scheme.name)
    for folder in dict.fromkeys(it.parent for it in rtl_sources.closure(rtl.top, rtl.rtl)):
        yield SchemeFile(folder, "RTL of its cards", shared=folder.name != module)


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
