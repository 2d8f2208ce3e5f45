"""A live recovery of a write-back cache: `python -m netkv.bench.live_recovery SCHEME RECORDS`.

A lab of four servers caches all keys, a load writes all of them, and a snapshot has them. Then the
switch is killed and started again, with one request at a time as the only load. The command prints
the phases of the recovery and the processor time of the controller as JSON. The records that no
server has are those that were written since the last snapshot began; `counts` tells their number.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from netkv import schemes
from netkv.control.base import Recovered
from netkv.errors import NetkvError, UsageError
from netkv.live.rack import LiveRack
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec

_SNAPSHOT_PERIOD = 3
_LOAD_S = 2.5 * _SNAPSHOT_PERIOD
"""A snapshot begins after most keys were written, and is complete."""
_TIMEOUT = 120.0


class LiveRecovery(BaseModel):
    """The recovery, in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    records: int
    start_s: float
    """Start of the lab, until all records are cached."""
    recovery_s: float
    phases: dict[str, float]
    counts: dict[str, int]
    controller_cpu_s: float
    """Processor time of this process, from the start of the switch on."""


async def measure(scheme: str, records: int) -> LiveRecovery:
    """Brings a lab up, and measures the recovery of its switch. Raises `NetkvError`."""
    fields = {"servers": 4, "cache_entries": records, "snapshot_period": _SNAPSHOT_PERIOD}
    spec = RackSpec(
        scheme=scheme,
        lab=LabSpec.model_validate(fields),
        workload=WorkloadSpec(
            keys=records, zipf=0.0, writes=1.0, arrivals=ClosedLoop(outstanding=16)
        ),
    )
    with tempfile.TemporaryDirectory(prefix="netkv-recovery-") as folder:
        rack = LiveRack(spec, Path(folder) / "rack")
        begun = time.monotonic()
        await rack.start()
        start = time.monotonic() - begun
        try:
            await rack.client.command({"do": "phase", "name": "measure"})
            await asyncio.sleep(_LOAD_S)
            await rack.client.command({"do": "outstanding", "value": 1})
            await rack.node("switch").kill()
            cpu = time.process_time()
            await rack.node("switch").start()
            recovered = await _recovered(rack)
            cpu = time.process_time() - cpu
        finally:
            await rack.stop()
    if recovered.counts.get("snapshot_records") == 0:
        raise NetkvError(
            "No snapshot was complete when the switch was killed, so no key was cached again: the "
            "machine is too busy. Repeat the command."
        )
    return LiveRecovery(
        records=records,
        start_s=start,
        recovery_s=recovered.seconds,
        phases=dict(recovered.phases),
        counts=dict(recovered.counts),
        controller_cpu_s=cpu,
    )


async def _recovered(rack: LiveRack) -> Recovered:
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        for event in rack.events:
            if event.recovered is not None:
                return event.recovered
        await asyncio.sleep(0.05)
    raise NetkvError(f"The switch has not recovered within {_TIMEOUT:g} s.")


def _arguments() -> tuple[str, int]:
    names = [
        scheme.name
        for scheme in schemes.all_schemes()
        if scheme.recovery_phases and scheme.limits.one_switch
    ]
    arguments = sys.argv[1:]
    if len(arguments) != 2 or arguments[0] not in names or not arguments[1].isdecimal():
        raise UsageError(f"Give a scheme ({', '.join(names)}) and a number of records.")
    return arguments[0], int(arguments[1])


if __name__ == "__main__":
    try:
        print(asyncio.run(measure(*_arguments())).model_dump_json(indent=2))
    except NetkvError as error:
        sys.exit(f"error: {error}")
