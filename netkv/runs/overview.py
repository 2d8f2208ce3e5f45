"""The overview of the scenarios that ship, with the wall time of each on this machine.

Reading and planning all of them takes more than a second, so the overview is kept in the state
directory.

Rules
-----
1. An entry holds while the file of its scenario, the files that this one extends, and the stored
   runs of the scenario stay the same.
2. All entries hold while the imported modules, the search path of modules, the machine, the
   measured speed of the simulator, and the FPGA designs and their builds stay the same.
3. Files are compared by size and time of change. If a module has changed since this process
   imported this one, nothing is kept: the process may have imported the module before the change.
4. Nothing is kept if the run store is another database than SQLite.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from netkv import library_cache, resources
from netkv.home import home
from netkv.processes import boot
from netkv.runs import default_store

if TYPE_CHECKING:
    from netkv.runs.walltime import WallTime
    from netkv.scenarios.model import Scenario

Finished: TypeAlias = Mapping[str, list[float]]

_IMPORTED_NS = time.time_ns()


@dataclass(frozen=True)
class Overview:
    """A scenario in a list."""

    name: str
    title: str
    description: str
    schemes: Sequence[str]
    runs: int
    wall_seconds: float
    wall_seconds_source: Literal["measured", "estimated"]
    virtual_seconds: float | None
    """Virtual time of all runs; None for a live scenario."""
    build_seconds: float
    """The part of `wall_seconds` in which FPGA designs are built that were not built yet."""


def of_scenario(scenario: Scenario, wall_time: WallTime) -> Overview:
    """The overview of a scenario whose wall time is known."""
    return Overview(
        name=scenario.name,
        title=scenario.title,
        description=scenario.description,
        schemes=scenario.schemes,
        runs=wall_time.runs,
        wall_seconds=wall_time.wall_seconds,
        wall_seconds_source=wall_time.source,
        virtual_seconds=wall_time.virtual_seconds,
        build_seconds=wall_time.build_seconds,
    )


def shipped() -> list[Overview]:
    """The scenarios that come with netkv, by name."""
    finished = default_store.finished()
    files = list(resources.scenarios().values())
    kept = {} if finished is None else _kept()
    entries = {
        str(file): entry
        for file in files
        if (entry := kept.get(str(file))) is not None and _holds(entry, finished or {})
    }
    missing = [file for file in files if str(file) not in entries]
    if missing:
        entries |= _plan(missing, finished or {})
        if finished is not None:
            _keep(entries)
    return [Overview(**entries[str(file)]["overview"]) for file in files]


def path() -> Path:
    """The file with the kept overview."""
    return home() / "scenario-overview.json"


def _holds(entry: Mapping[str, Any], finished: Finished) -> bool:
    stored = finished.get(entry["overview"]["name"])
    same = all(_stamp(file) == stamp for file, stamp in entry["files"].items())
    return bool(same and entry["finished"] == stored)


def _plan(files: Sequence[Path], finished: Finished) -> dict[str, Any]:
    """New entries for these scenarios."""
    from netkv.runs import walltime
    from netkv.scenarios import loader, sources

    # Before the files are read: a later change must not be missed.
    stamps = {file.resolve(): _stamp(file) for file in resources.scenario_files().values()}
    read = [sources.read(file) for file in files]
    scenarios = [loader.of_source(source) for source in read]
    history = walltime.stored(*(scenario.name for scenario in scenarios))
    return {
        str(file): {
            "files": {str(each): stamps.get(each) for each in source.files},
            "finished": finished.get(scenario.name),
            "overview": asdict(of_scenario(scenario, walltime.of_scenario(scenario, history))),
        }
        for file, source, scenario in zip(files, read, scenarios, strict=True)
    }


def _kept() -> dict[str, Any]:
    """The kept entries by file, if they hold for this code and machine."""
    try:
        kept = json.loads(path().read_text(encoding="utf-8"))
        if kept["basis"] != _basis(kept["modules"]):
            return {}
        return dict(kept["entries"])
    except (OSError, ValueError, KeyError, TypeError):
        # Missing or damaged.
        return {}


def _keep(entries: Mapping[str, Any]) -> None:
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    modules = sorted({file for file in loaded if isinstance(file, str)})
    if any(stamp is not None and stamp[0] >= _IMPORTED_NS for stamp in map(_stamp, modules)):
        return
    kept = {"basis": _basis(modules), "modules": modules, "entries": entries}
    draft = path().with_suffix(f".{os.getpid()}.new")
    try:
        path().parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(kept), encoding="utf-8")
        draft.replace(path())
    except OSError:
        # The next process reads the scenarios again.
        with contextlib.suppress(OSError):
            draft.unlink()


def _basis(modules: Iterable[str]) -> str:
    """A digest of what all entries depend on (rule 2)."""
    measured = [file for file in sorted(home().glob("*.json")) if file != path()]
    basis = [
        default_store.default_url(),
        (os.uname().nodename, boot(), len(os.sched_getaffinity(0))),
        sorted(os.listdir(resources.package() / "schemes")),
        [(str(file), _stamp(file)) for file in _entry_points()],
        [(str(file), _stamp(file)) for file in measured],
        [(file, _stamp(file)) for file in modules],
        library_cache.basis(),
    ]
    return hashlib.sha256(repr(basis).encode()).hexdigest()


def _entry_points() -> Iterator[str]:
    """The files that declare schemes of packages (`netkv.schemes.registry`)."""
    for folder in dict.fromkeys(sys.path):
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                yield f"{folder}/{name}/entry_points.txt"


def _stamp(file: Path | str) -> list[int] | None:
    """Time of change and size; None for a file that does not exist."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size]
