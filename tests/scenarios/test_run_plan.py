"""The runs of a scenario: all combinations of its sweep, schemes and repeats, with seeds."""

from __future__ import annotations

import pytest

from netkv import schemes
from netkv.errors import UsageError
from netkv.model.spec import WorkloadSpec
from netkv.scenarios import loader
from netkv.scenarios.run_plan import only_schemes, plan
from netkv.schemes import checks
from netkv.schemes.spec import LabSpec

TEXT = """\
name: mine
schemes: [nocache, netcache]
seed: 7
repeat: 2
sweep:
  workload.zipf: [0.5, 0.9]
  lab.servers: [2, 4]
expect:
  - netcache.throughput_ops > nocache.throughput_ops
  - netcache.stale_reads == 0
"""


def test_plan_has_every_combination_and_a_seed_for_each_repeat() -> None:
    runs = plan(loader.loads(TEXT, "f"))
    assert len(runs) == 2 * 2 * 2 * 2
    assert [run.scheme for run in runs[:2]] == ["nocache", "netcache"]
    assert {run.seed for run in runs} == {7, 8}
    assert {(r.scenario.workload.zipf, r.scenario.lab.servers) for r in runs} == {
        (0.5, 2),
        (0.5, 4),
        (0.9, 2),
        (0.9, 4),
    }
    assert runs[0].params == {"workload.zipf": 0.5, "lab.servers": 2}


def test_too_many_pipelines_are_refused_before_the_run() -> None:
    with pytest.raises(UsageError) as caught:
        plan(loader.loads(TEXT, "f", ["lab.pipelines=2"]))
    assert "'netcache' runs on switches of 1 pipeline, but 'lab.pipelines' is 2" in str(
        caught.value
    )
    swept = loader.loads(TEXT.replace("lab.servers: [2, 4]", "lab.pipelines: [1, 4]"), "f")
    with pytest.raises(UsageError, match=r"but 'lab.pipelines' is 4"):
        plan(swept)
    fine = plan(only_schemes(swept, ["nocache"]))
    assert {run.scenario.lab.pipelines for run in fine} == {1, 4}
    with pytest.raises(UsageError, match=r"'lab.pipelines' is 3; it should be 1, 2 or 4"):
        loader.loads(TEXT, "f", ["lab.pipelines=3"])


def test_chosen_scheme_drops_thresholds_and_plots_of_others() -> None:
    plots = "plots:\n  - {relative_to: {scheme: nocache}}\n  - {y: hit_ratio}\n"
    scenario = only_schemes(loader.loads(TEXT + plots, "f"), ["netcache"])
    assert scenario.schemes == ["netcache"]
    assert scenario.expect == ["netcache.stale_reads == 0"]
    assert [plot.y for plot in scenario.plots] == ["hit_ratio"]
    with pytest.raises(UsageError, match="Did you mean 'netcache'"):
        only_schemes(scenario, ["netcash"])


def test_short_keys_must_suffice_for_inserted_keys() -> None:
    scheme = schemes.get("netmc")
    load = {"keys": 3 * 2**30, "key_size": 4}
    checks.check(scheme, LabSpec(), WorkloadSpec.model_validate(load))
    with pytest.raises(UsageError, match=r"\(3,221,225,472, twice over for the inserts of"):
        checks.check(scheme, LabSpec(), WorkloadSpec.model_validate({**load, "mix": "insert"}))
    with pytest.raises(UsageError, match=r"fewer than 'workload.keys' \(5,368,709,120\)"):
        checks.check(scheme, LabSpec(), WorkloadSpec.model_validate({**load, "keys": 5 * 2**30}))
