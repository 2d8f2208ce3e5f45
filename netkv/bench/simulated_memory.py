"""A process that measures the memory of a simulated rack: `… -m netkv.bench.simulated_memory`.

It reads a `Case` as JSON from stdin and writes its `MemoryGrowth` as JSON to stdout: the peak
memory of the process after some virtual time under load, and after twice that time.
"""

from __future__ import annotations

import sys
import time

from pydantic import BaseModel, ConfigDict

from netkv.bench.simulated_rack import Case, loaded, peak_memory_mb
from netkv.sim.rack import SECOND, SimRack

_STEP = SECOND // 20
"""Virtual time between two checks of the clock: some thousand requests at a `Case`'s scale."""


class RunState(BaseModel):
    """State of a run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    virtual_s: float
    operations: int
    """Completed so far."""
    written_keys: int
    """Different keys that the servers' stores hold, because they were written."""
    memory_mb: float
    """Peak memory of the process so far."""


class MemoryGrowth(BaseModel):
    """State of a run after some virtual time, and after twice that time."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    once: RunState
    twice: RunState


def measure(case: Case) -> MemoryGrowth:
    """Runs a rack for at least `case.seconds` of wall time and `case.operations`, and then for the
    same virtual time again.

    Raises `NetkvError`.
    """
    rack, operations = loaded(case), 0
    begun, virtual = time.perf_counter(), rack.nanoseconds
    while operations < case.operations or time.perf_counter() - begun < case.seconds:
        operations += _advance(rack, rack.nanoseconds + _STEP)
    length = rack.nanoseconds - virtual
    once = _reached(rack, length, operations)
    while rack.nanoseconds < virtual + 2 * length:
        operations += _advance(rack, min(rack.nanoseconds + _STEP, virtual + 2 * length))
    return MemoryGrowth(once=once, twice=_reached(rack, 2 * length, operations))


def _advance(rack: SimRack, until: int) -> int:
    rack.advance(until)
    return rack.take_sample().client.completed


def _reached(rack: SimRack, length: int, operations: int) -> RunState:
    servers = rack.statistics["servers"]
    return RunState(
        virtual_s=length / SECOND,
        operations=operations,
        written_keys=sum(server["stored"] for server in servers),
        memory_mb=peak_memory_mb(),
    )


def main() -> None:
    """Measures the case on stdin."""
    case = Case.model_validate_json(sys.stdin.read())
    sys.stdout.write(measure(case).model_dump_json() + "\n")


if __name__ == "__main__":
    main()
