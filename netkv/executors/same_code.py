"""What a worker must have in common with the process that submits units: netkv's code."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

from netkv import __version__, resources

_KINDS = {".py", ".p4", ".sv", ".svh", ".v", ".cpp", ".h", ".yaml", ".json"}
"""Files on which the result of a unit may depend."""
_OTHER_DATA = {"docs-site", "evaluation", "papers", "scenarios", "web"}
"""Folders of the package's data that no unit reads."""


@functools.cache
def identity() -> str:
    """`netkv 0.3.0 (1f0a5c9b2e)`: the same on machines whose units have the same results.

    The digits are those of a hash over netkv's files, its engine, other packages with schemes, and
    the kind of processor: nobody has tried whether two kinds agree to the last digit.
    """
    digest = hashlib.sha256(f"{platform.machine()}\n".encode())
    for name, file in sorted(_files()):
        digest.update(f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    digest.update(f"engine {_engine()}\n".encode())
    for package in sorted(_packages()):
        digest.update(f"{package}\n".encode())
    return f"netkv {__version__} ({digest.hexdigest()[:10]})"


def _files() -> Iterator[tuple[str, Path]]:
    package = resources.package()
    for folder in (package, *(it for it in (package / "data").iterdir() if it.is_dir())):
        if folder.name in _OTHER_DATA:
            continue
        # `rglob` does not follow the links of a checkout.
        for file in folder.resolve().rglob("*"):
            name = file.relative_to(folder.resolve())
            if file.suffix in _KINDS and "data" not in name.parts[:1]:
                yield f"{folder.name}/{name}", file


def _engine() -> str:
    """The sources of the engine, as a wheel names them; in a checkout, where nobody knows them, the
    engine itself."""
    package = resources.package()
    sources = package / "engine-sources"
    if resources.checkout() is None and sources.is_file():
        return sources.read_text(encoding="utf-8").strip()
    engine = next(package.glob("_engine*.so"))
    return hashlib.sha256(engine.read_bytes()).hexdigest()


def _packages() -> Iterator[str]:
    """Other packages that have schemes."""
    for each in entry_points(group="netkv.schemes"):
        if each.dist is not None and each.dist.name != "netkv":
            yield f"{each.dist.name} {each.dist.version}"
