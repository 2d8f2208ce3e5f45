"""Recirculated frames of a slow switch leave it in the order of time, not of their arrival."""

from __future__ import annotations

from netkv.model.profile import LinkModel
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim import profiles
from tests.sim.driving import run, started


def test_no_recirculated_frame_waits_for_frames_that_leave_later() -> None:
    """A switch of 0.5 ms a packet has a queue of seconds, and a link nearly nothing to do. A frame
    that is recirculated leaves before frames that came after it; its link was found reserved for
    them, and with a queue of 64 KiB (52 us) dropped it."""
    link = LinkModel(bandwidth_gbps=10, delay=50, queue_kib=64)
    profile = profiles.get("distreach-mininet").model_copy(
        update={"client_link": link, "server_link": link, "switch_link": link}
    )
    spec = RackSpec(
        scheme="distreach",
        retry=60,
        deadline=60,
        lab=LabSpec(servers=4, clients=64, cache_entries=10_000, profile="distreach-mininet"),
        workload=WorkloadSpec(
            keys=10**10, zipf=0.99, writes=0.5, arrivals=ClosedLoop(outstanding=512)
        ),
    )
    sample = run(started(spec, profile=profile), 8)
    assert sample.client.completed > 100, "switches are busy"
    assert sample.dropped_frames == 0
