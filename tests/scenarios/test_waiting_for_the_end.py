"""Drain and verification of a slow store last long; their samples become rare."""

from __future__ import annotations

from itertools import pairwise

import pytest

from netkv.model.report import RackSample
from netkv.scenarios import loader
from netkv.scenarios.runner import run_scenario
from netkv.sim.rack import SimRack

TEXT = """\
name: slow
schemes: [nocache]
mode: sim
lab: {servers: 1, service_rate: 20, host_queue: 1000}
workload: {keys: 10000, writes: 1.0, zipf: 0, arrivals: {outstanding: 200}}
retry: 60
deadline: 60
warmup: 0
duration: 2
"""


@pytest.mark.usefixtures("home")
async def test_long_ends_are_sampled_rarely_and_ended_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    samples: list[RackSample] = []
    take = SimRack.take_sample

    def recorded(rack: SimRack) -> RackSample:
        samples.append(take(rack))
        return samples[-1]

    monkeypatch.setattr(SimRack, "take_sample", recorded)
    (run,) = (await run_scenario(loader.loads(TEXT, "slow.yaml"))).runs
    assert run.status == "done", run.reason
    assert run.acked_writes_lost == 0
    for phase in ("drain", "verify"):
        times = [sample.time for sample in samples if sample.phase == phase]
        length = times[-1] - times[0]
        assert length > 8, "200 requests and 240 keys take a server 20/s ten seconds each"
        assert len(times) < 0.5 * length / 0.1, phase
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert max(gaps) < 0.12 * length, f"{phase}: nobody waits long for the end"
