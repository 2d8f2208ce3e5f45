"""A false assertion of a switch's program is a note of the run, once."""

from __future__ import annotations

import asyncio

from netkv.model.spec import WorkloadSpec
from netkv.schemes.edits import Edit, with_programs
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SECOND, SimRack

FALSE_FOR_REPLIES = Edit(
    "assert",
    "every frame is a request",
    "p4/forwarding/forwarding.p4",
    "statistics_access.apply(hdr, meta, std);",
    "statistics_access.apply(hdr, meta, std); assert(std.ingress_port < 100);",
)


def test_false_assertion_is_a_note_of_a_simulated_run() -> None:
    spec = RackSpec(scheme="nocache", lab=LabSpec(servers=2), workload=WorkloadSpec(keys=100))
    rack = SimRack(spec)
    rack.scheme = with_programs(FALSE_FOR_REPLIES, rack.scheme)
    asyncio.run(rack.compile())
    rack.bring_up()
    rack.command({"do": "phase", "name": "measure"})
    for _ in range(3):
        rack.advance(rack.nanoseconds + SECOND // 100)
        rack.take_sample()
    notes = [event.text for event in rack.events if "assertion" in event.text]
    assert len(notes) == 1
    assert notes[0].endswith(" was false.")
    assert "forwarding.p4:41:" in notes[0]
