"""Where the RTL is: packages first, then folders in which each file holds one module."""

from __future__ import annotations

from pathlib import Path

from netkv import resources


def folder() -> Path:
    """The folder `fpga/` of this installation."""
    return resources.path("fpga")


def packages() -> list[Path]:
    """The files of SystemVerilog packages. They come first in every command line."""
    return sorted(folder().glob("rtl/**/*_pkg.sv"))


def libraries() -> list[Path]:
    """The folders that are searched for modules by their names."""
    rtl = sorted(each for each in folder().glob("rtl/*") if each.is_dir())
    return [*rtl, folder() / "models"]


def find(module: str) -> Path:
    """The file of a module.

    Raises:
        FileNotFoundError: no folder of `libraries` has it.
    """
    for each in libraries():
        if (each / f"{module}.sv").exists():
            return each / f"{module}.sv"
    raise FileNotFoundError(f"no module '{module}' in {', '.join(map(str, libraries()))}")


def of(top: str) -> tuple[list[Path], list[str]]:
    """What Verilator needs for module `top`: source files, and options that name the folders."""
    options = [word for each in libraries() for word in ("-y", str(each))]
    return [*packages(), find(top)], options
