"""The kits that a scheme uses, found in what its sources import and include."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from netkv import kits, resources

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_RUST_COMMENT = re.compile(r"//[^\n]*")
_RUST_KITS = re.compile(r"\bkits::(?:(\w+)|\{([^;]*)\})")
_BRACES = re.compile(r"\{[^{}]*\}")
_FIRST_NAMES = re.compile(r"(?:^|,)\s*(\w+)")


def of_python(source: Path) -> list[Path]:
    """The kits of `netkv.kits` that a package or a module imports, and those that these import."""
    return _reached(_imported_kits(source), _imported_kits)


def of_programs(programs: Iterable[Path]) -> list[Path]:
    """The folders of the files that P4 programs include."""
    return list(dict.fromkeys(file.parent for file in _reached(programs, _included)))


def of_roles(folders: Iterable[Path], rust_kits: Path) -> list[Path]:
    """The kits of roles in the folder `rust_kits` that modules use, and those that these use."""

    def used(folder: Path) -> Iterator[Path]:
        for file in sorted(folder.rglob("*.rs")):
            for name in _rust_kits(_RUST_COMMENT.sub("", file.read_text(encoding="utf-8"))):
                if (rust_kits / name).is_dir():
                    yield rust_kits / name

    return _reached([kit for folder in folders for kit in used(folder)], used)


def _reached(start: Iterable[Path], used: Callable[[Path], Iterator[Path]]) -> list[Path]:
    """What can be reached from these, themselves included."""
    found = list(dict.fromkeys(start))
    for each in found:  # grows
        found += [it for it in dict.fromkeys(used(each)) if it not in found]
    return found


def _imported_kits(source: Path) -> Iterator[Path]:
    for file in sorted(source.rglob("*.py")) if source.is_dir() else [source]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                modules = [f"{node.module}.{each.name}" for each in node.names]
            elif isinstance(node, ast.Import):
                modules = [each.name for each in node.names]
            else:
                continue
            for module in modules:
                if module.startswith(f"{kits.__name__}."):
                    kit = Path(kits.__path__[0]) / module.split(".")[2]
                    yield kit if kit.is_dir() else kit.with_suffix(".py")


def _included(file: Path) -> Iterator[Path]:
    """The files that a file includes: they are beside it, or in `p4/`."""
    for name in _INCLUDE.findall(file.read_text(encoding="utf-8")):
        for folder in (file.parent, resources.path("p4")):
            if (folder / name).is_file():
                yield folder / name
                break


def _rust_kits(text: str) -> Iterator[str]:
    """The kits that paths name: `kits::a::b`, `kits::{a::b, c}`."""
    for name, group in _RUST_KITS.findall(text):
        listed = group
        while _BRACES.search(listed):
            listed = _BRACES.sub("", listed)
        yield from _FIRST_NAMES.findall(name or listed)
