"""Where the RTL is: packages first, then folders in which each file holds one module.

Functions take further folders, for designs that are not netkv's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from netkv import resources

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")


def folder() -> Path:
    """The folder `fpga/` of this installation."""
    return resources.path("fpga")


def packages(further: Sequence[Path] = ()) -> list[Path]:
    """The files of SystemVerilog packages. They come first in every command line.

    A package comes after those that it names.
    """
    found = [file for each in libraries(further) for file in sorted(each.glob("*_pkg.sv"))]
    ordered = dict.fromkeys(file for each in found for file in closure(each.stem, further))
    return [file for file in ordered if file.stem.endswith("_pkg")]


def libraries(further: Sequence[Path] = ()) -> list[Path]:
    """The folders that are searched for modules by their names."""
    rtl = sorted(each for each in folder().glob("rtl/*") if each.is_dir())
    return [*further, *rtl, folder() / "models"]


def find(module: str, further: Sequence[Path] = ()) -> Path:
    """The file of a module.

    Raises:
        FileNotFoundError: no folder of `libraries` has it.
    """
    folders = libraries(further)
    for each in folders:
        if (each / f"{module}.sv").exists():
            return each / f"{module}.sv"
    raise FileNotFoundError(f"no module '{module}' in {', '.join(map(str, folders))}")


def closure(top: str, further: Sequence[Path] = ()) -> list[Path]:
    """The files that module `top` needs: packages in an order that compiles, then modules.

    A file needs every module and package that it names. So a name that is only text, such as that
    of a signal, may add a file, but none is missing.

    Raises:
        FileNotFoundError: there is no such module.
    """
    known: dict[str, Path] = {}
    for library in libraries(further):
        for file in sorted(library.glob("*.sv")):
            known.setdefault(file.stem, file)
    found: dict[Path, None] = {}
    open_files: set[Path] = set()

    def visit(file: Path) -> None:
        if file in found or file in open_files:
            return
        open_files.add(file)
        text = _COMMENT.sub(" ", file.read_text(encoding="utf-8"))
        for name in dict.fromkeys(_WORD.findall(text)):
            if name in known:
                visit(known[name])
        open_files.discard(file)
        found[file] = None

    visit(find(top, further))
    return sorted(found, key=lambda file: not file.stem.endswith("_pkg"))


def waivers() -> list[Path]:
    """Files of settings of Verilator and lint waivers that concern all modules."""
    return sorted(folder().glob("rtl/*.vlt"))


def of(top: str, further: Sequence[Path] = ()) -> tuple[list[Path], list[str]]:
    """What Verilator needs for module `top`: source files, and options that name the folders."""
    options = [word for each in libraries(further) for word in ("-y", str(each))]
    return [*waivers(), *closure(top, further)], options
