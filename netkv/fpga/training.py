"""The load that shows a compiler which parts of a design are busy.

A build compiles a design with counters of branches, runs this load, and compiles the design again
with the counts. The load is in virtual time, so the same sources give the same counts.

The counters are written when the process ends: a build starts one, `python -m netkv.fpga.training`
with path and manifest of the design, pickled, at its input.
"""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from netkv.errors import NetkvError
from netkv.fpga import replay, tester
from netkv.fpga.build import Library
from netkv.model.manifest import Manifest

_FRAMES = 600
_CYCLES = 10_000


def _loads(ports: int) -> Iterator[tester.Load]:
    """From more queries than a design can answer to few, with hits and misses."""
    every = range(ports)
    yield tester.Load(ports=every, cycles=_CYCLES)
    yield tester.Load(ports=every, cycles=2 * _CYCLES, share=1 / ports)
    yield tester.Load(ports=every, cycles=_CYCLES, share=1 / ports, hits=0.5)
    yield tester.Load(
        ports=every, cycles=_CYCLES, share=1 / ports, hits=0.8, key_bytes=40, value_bytes=200
    )
    yield tester.Load(cycles=4 * _CYCLES, share=0.02)


def _frames(ports: int) -> list[tuple[int, bytes]]:
    """Random frames at all ports."""
    draw = random.Random(1)
    return [
        (draw.randrange(ports), draw.randbytes(draw.choice([60, 74, 128, 512, 1514])))
        for _ in range(_FRAMES)
    ]


def _train(library: Path, manifest: Manifest) -> None:
    design = Library(library, manifest, trace=False, cached=False, seconds=0)
    for load in _loads(len(manifest.client_ports)):
        try:
            instance, _ = tester.offer(design, load)
            instance.step(load.cycles)
        except NetkvError:
            break  # no design for memcached
    replay.replay(design, _frames(len(manifest.ports)), every=20)


if __name__ == "__main__":
    _train(*pickle.load(sys.stdin.buffer))
