"""Paths of the files of netkv that are not Python: P4 programs, RTL, scenarios, dashboard, figures
of papers and of their repetitions.

All but the papers' are in other folders of the repository, and inside the package under `data/`:
in a checkout as links, in a wheel as files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from netkv.errors import NetkvError

Resource = Literal["evaluation", "fpga", "p4", "papers", "scenarios", "web"]

_PACKAGE = Path(__file__).resolve().parent


def path(name: Resource) -> Path:
    """The directory of a kind of resource; raises `NetkvError` if this installation lacks it."""
    candidate = _PACKAGE / "data" / name
    if candidate.is_dir():
        return candidate.resolve()
    raise NetkvError(
        f"The directory '{name}' is missing from this installation of netkv ({_PACKAGE}). "
        f"Install the wheel again, or run from a complete checkout."
    )


def site() -> Path:
    """The directory of the documentation's site; missing unless it was built (`make docs-site`)."""
    return _PACKAGE / "data" / "docs-site"


def programs() -> dict[str, Path]:
    """The P4 programs that ship, by name: `NAME/NAME.p4` in the folder `p4`."""
    found = sorted(path("p4").glob("*/*.p4"))
    return {file.stem: file for file in found if file.stem == file.parent.name}


def scenarios() -> dict[str, Path]:
    """The scenarios that ship, by name."""
    return {name: file for name, file in scenario_files().items() if not name.startswith("_")}


def scenario_files() -> dict[str, Path]:
    """`scenarios`, and what is only a base of others: `_NAME.yaml`.

    A file that is about one scheme is in a folder. Raises `NetkvError` if two have one name.
    """
    found: dict[str, Path] = {}
    for file in sorted(path("scenarios").rglob("*.yaml"), key=lambda file: file.stem):
        if (other := found.setdefault(file.stem, file)) != file:
            raise NetkvError(f"Two scenarios have the name '{file.stem}': {other} and {file}.")
    return found


def package() -> Path:
    """The directory of the package `netkv`."""
    return _PACKAGE


def checkout() -> Path | None:
    """The root of the source checkout that this package runs from; None for an installed wheel."""
    root = _PACKAGE.parent
    return root if (root / "engine" / "Cargo.toml").is_file() else None
