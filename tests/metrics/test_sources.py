"""Parts of a run that a sum counts."""

import pytest

from netkv.metrics.readings import Reading
from netkv.metrics.sources import Part, Sum
from netkv.model.report import ClientSample, RackSample

PHASES = ["warmup", "measure", "drain", "verify"]


@pytest.mark.parametrize(
    ("part", "counted"),
    [("measured", ["measure"]), ("load", ["measure", "drain"]), ("whole run", PHASES)],
)
def test_sum_counts_the_phases_of_its_part(part: Part, counted: list[str]) -> None:
    source = Sum(Reading("rack", ("cached",)), part)
    found = []
    for phase in PHASES:
        sample = RackSample(
            time=0, client=ClientSample(), phase=phase, server_load=(), server_dropped=(), cached=1
        )
        if source.fold(None, phase, sample):
            found.append(phase)
    assert found == counted
