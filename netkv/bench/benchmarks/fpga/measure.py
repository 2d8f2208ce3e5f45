"""Speed of a simulated FPGA design: cycles in a second of one processor, and the time of its build.

Processor time counts, so that other load on the machine disturbs less. Figures of two machines, or
of two days, cannot be compared.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from netkv._engine import FpgaDesign
from netkv.fpga import build, tester
from netkv.fpga.build import Progress
from netkv.model.manifest import Manifest

LOADED_CYCLES = 200_000
SPARSE_CYCLES = 2_000_000
IDLE_CYCLES = 100_000_000
SETTLE_CYCLES = 4_096


@dataclass(frozen=True)
class Speed:
    """What was measured."""

    design: str
    build_seconds: float
    """Wall time of the build, which may have been an earlier one."""
    loaded: float
    """Cycles a second with GET hits at the line rate of all ports of clients."""
    sparse: float
    """Cycles a second with GET hits at a thousandth of the line rate of one port."""
    idle: float
    """Cycles a second without frames."""


def run(manifest: Manifest, cycles: int | None = None, progress: Progress | None = None) -> Speed:
    """Builds a design and measures it over `cycles` cycles under load; None: `LOADED_CYCLES`, or as
    many as a load of the design can have.

    Raises `NetkvError`: the design cannot be built, or does not answer memcached's GETs.
    """
    tester.check_protocol(manifest)
    library = build.build(manifest, progress=progress)
    ports = range(len(manifest.client_ports))
    load = tester.Load(ports=ports, cycles=LOADED_CYCLES, warmup_cycles=0)
    cycles = cycles or min(LOADED_CYCLES, tester.most_cycles(manifest, load))
    design, _ = tester.offer(library, replace(load, cycles=cycles))
    loaded = _rate(design, cycles)
    few = tester.Load(share=0.001, cycles=SPARSE_CYCLES)
    design, presented = tester.offer(library, few)
    sparse = _rate(design, SPARSE_CYCLES)
    design.step(max(0, presented[-1] - design.cycle) + SETTLE_CYCLES)
    return Speed(manifest.name, library.seconds, loaded, sparse, _rate(design, IDLE_CYCLES))


def _rate(design: FpgaDesign, cycles: int) -> float:
    began = time.process_time()
    design.step(cycles)
    return cycles / (time.process_time() - began)
