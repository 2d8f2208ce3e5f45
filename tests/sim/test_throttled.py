"""A throttled closed loop: at most so many requests outstanding, and at most a rate."""

from __future__ import annotations

from typing import Any

import pytest

from netkv.model.report import RackSample
from netkv.model.spec import Throttled
from netkv.scenarios import loader
from tests.sim.driving import run, small

SECONDS = 0.5


def sample(threads: int, rate: float, zipf: float = 0.99, **lab: Any) -> RackSample:
    arrivals = Throttled(threads=threads, rate=rate)
    load = {"arrivals": arrivals, "zipf": zipf}
    return run(small("nocache", workload=load, **lab), SECONDS)


def test_fast_rack_gets_the_rate() -> None:
    found = sample(8, 4000).client_statistics
    assert found["completed"] == pytest.approx(4000 * SECONDS, rel=0.02)
    assert found["unsent"] == found["lost"] == 0


def test_slow_rack_gets_what_it_can_do_and_no_queue_grows() -> None:
    found = sample(8, 40_000, service_rate=500).client_statistics
    # Four servers of 500 operations/s; at most 8 requests wait, so none waits longer than 16 ms.
    assert found["completed"] <= 4 * 500 * SECONDS * 1.1
    assert found["outstanding"] <= 8
    assert found["latency_ns"]["max"] < 8 / 500 * 1.2e9


def test_threads_that_are_late_make_up_for_it() -> None:
    """The rate holds on average even if answers are sometimes later than a tick."""
    found = sample(6, 1000, zipf=0.0, service_rate=400).client_statistics
    assert found["completed"] == pytest.approx(1000 * SECONDS, rel=0.05)


def test_rate_of_a_closed_loop_is_an_option_of_a_scenario() -> None:
    text = (
        "name: t\nschemes: [nocache]\nmode: sim\n"
        "workload: {arrivals: {threads: 16, rate: 100}}\nduration: 1\n"
    )
    scenario = loader.loads(text, "t.yaml", ["workload.arrivals.rate=250"])
    assert scenario.workload.arrivals == Throttled(threads=16, rate=250)
    again = loader.loads(text, "t.yaml", ["workload.arrivals.outstanding=3"])
    assert again.workload.model_dump()["arrivals"] == {"outstanding": 3}
