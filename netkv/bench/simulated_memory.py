"""A process that measures the memory of a simulated rack: `… -m netkv.bench.simulated_memory`.

It reads a `Case` as JSON from stdin and writes its `MemoryGrowth` as JSON to stdout: the peak
memory of the process after some virtual time under load, and after ten times that time. With
`crash`, a switch crashes at the beginning of each tenth, and recovers.
"""

from __future__ import annotations

import asyncio
import sys
import time

from pydantic import BaseModel, ConfigDict

from netkv.errors import NetkvError
from netkv.sim.rack import SECOND, SimRack
from netkv.sim.timing import Case, loaded, peak_memory_mb

LENGTH = 10
"""Length of the whole run, as a multiple of its first part."""
_STEP = SECOND // 20
"""Virtual time between two checks of the clock: some thousand requests at a `Case`'s scale."""
_DOWN = SECOND // 10
"""For how long a crashed switch is down."""
_RECOVERY_TIMEOUT = 60 * SECOND


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
    """State of a run after its first part, and at the end."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    first: RunState
    whole: RunState


def measure(case: Case) -> MemoryGrowth:
    """Runs a rack for at least a `LENGTH`th of `case.seconds` of wall time and `case.operations`,
    and then on until the virtual time is `LENGTH` times as long.

    Raises `NetkvError`.
    """
    run = _Run(loaded(case))
    begun, virtual = time.perf_counter(), run.rack.nanoseconds
    if case.crash:
        run.crash()
    while run.operations < case.operations or (time.perf_counter() - begun < case.seconds / LENGTH):
        run.advance(run.rack.nanoseconds + _STEP)
    length = run.rack.nanoseconds - virtual
    first = run.state(length)
    for part in range(1, LENGTH):
        if case.crash:
            run.crash()
        while run.rack.nanoseconds < virtual + (part + 1) * length:
            run.advance(min(run.rack.nanoseconds + _STEP, virtual + (part + 1) * length))
    return MemoryGrowth(first=first, whole=run.state(run.rack.nanoseconds - virtual))


class _Run:
    """A rack under load."""

    def __init__(self, rack: SimRack) -> None:
        self.rack = rack
        self.operations = 0

    def advance(self, until: int) -> None:
        """Runs until this virtual time."""
        self.rack.advance(until)
        self.operations += self.rack.take_sample().client.completed

    def crash(self) -> None:
        """The first switch is killed and started, and recovers."""
        switch = self.rack.switch_nodes[0]
        asyncio.run(switch.kill())
        self.advance(self.rack.nanoseconds + _DOWN)
        asyncio.run(switch.start())
        latest = self.rack.nanoseconds + _RECOVERY_TIMEOUT
        while not self.rack.ready:
            if self.rack.nanoseconds > latest:
                raise NetkvError(
                    f"The switch has not recovered within {_RECOVERY_TIMEOUT / SECOND:g} virtual s."
                )
            self.advance(self.rack.nanoseconds + _STEP)

    def state(self, length: int) -> RunState:
        """The present state, after this virtual time under load."""
        servers = self.rack.statistics["servers"]
        return RunState(
            virtual_s=length / SECOND,
            operations=self.operations,
            written_keys=sum(server["stored"] for server in servers),
            memory_mb=peak_memory_mb(),
        )


def main() -> None:
    """Measures the case on stdin."""
    case = Case.model_validate_json(sys.stdin.read())
    sys.stdout.write(measure(case).model_dump_json() + "\n")


if __name__ == "__main__":
    main()
