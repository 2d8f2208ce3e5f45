"""The wall time that commands print for a scenario, and whether it is measured or estimated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netkv.machine import host
from netkv.runs import Store, StoreSink
from netkv.scenarios import loader
from netkv.scenarios.results import Provenance
from netkv.scenarios.run_plan import plan
from netkv.sim import speed
from tests.cli.commands import Netkv
from tests.runs.recorded_runs import record, record_comparison, start


def store_a_run_of(name: str, seconds: float) -> None:
    """Stores every run of a shipped scenario, as if it had taken `seconds` on this machine."""
    origin = Provenance(
        netkv_version="0", source_revision="", program="", program_hash="", host=host()
    )
    with Store() as store, StoreSink(store) as sink:
        for at, item in enumerate(plan(loader.load(loader.find(name)))):
            run = start(
                f"stored-{at}",
                item.scheme,
                scenario=name,
                mode=item.scenario.mode,
                params=item.params,
                parameters=item.scenario.model_dump(mode="json"),
                provenance=origin,
                warmup=0.0,
                duration=seconds,
            )
            record(sink, run)


def test_list_and_show_have_wall_time_and_its_source(
    netkv_in_process: Netkv, monkeypatch: pytest.MonkeyPatch
) -> None:
    # At some speed of a machine the estimate happens to be the virtual time.
    monkeypatch.setattr(speed, "requests_per_core_s", lambda: 200_000.0)
    listed = {
        each["name"]: each
        for each in netkv_in_process("scenario", "list", "--json").document["scenarios"]
    }
    before = listed["netcache-skew"]
    assert before["wall_seconds_source"] == "estimated"
    assert before["virtual_seconds"] == 16
    assert before["wall_seconds"] != 16
    assert "seconds" not in before
    assert listed["quickstart"]["virtual_seconds"] is None
    store_a_run_of("quickstart", 40.0)
    shown = netkv_in_process("scenario", "show", "quickstart", "--json").document
    assert (shown["wall_seconds"], shown["wall_seconds_source"]) == (80, "measured")
    text = netkv_in_process("scenario", "list", COLUMNS="160").out
    assert re.search(r"quickstart .* 1 min 20 s +measured", text)
    assert re.search(r"netcache-skew .* s +estimated", text)
    assert "Wall time on this machine." in text
    text = netkv_in_process("scenario", "show", "netcache-skew").out
    assert re.search(
        r"# 8 runs take about .* here \(estimated\), and simulate 16 s of virtual", text
    )


@pytest.mark.usefixtures("nothing_is_built")
def test_time_has_the_build_of_designs_that_are_not_built(netkv_in_process: Netkv) -> None:
    def shown(scheme: str) -> tuple[str, float, float]:
        command = ("scenario", "show", "lake-clock", "--set", f"schemes=[{scheme}]")
        more = ("--set", "expect=[]", "--set", "plots=[]", "--set", "sweep={}")
        found = netkv_in_process(*command, *more, "--json").document
        text = netkv_in_process(*command, *more).out
        return text, found["build_seconds"], found["wall_seconds"]

    text, build_s, wall_s = shown("lake")
    assert "(estimated, with 50 s to build FPGA designs), and simulate" in text
    assert build_s == 50 < wall_s
    text, build_s, wall_s = shown("nocache")
    assert "build" not in text.splitlines()[1]
    assert build_s == 0


def test_run_prints_its_expected_wall_time(netkv: Netkv, short_scenario: Path) -> None:
    result = netkv("scenario", "run", str(short_scenario), "--scheme", "nocache", "--json")
    assert "1 run takes about 5 s here (estimated)." in result.err
    result = netkv("scenario", "run", str(short_scenario), "--scheme", "nocache", "--json")
    assert re.search(r"1 run takes about \d+ s here \(measured\)\.", result.err)


def test_load_that_cannot_be_served_is_named_before_the_run(
    netkv_in_process: Netkv, netkv: Netkv, short_scenario: Path
) -> None:
    load = ("--set", "workload.arrivals={rate: 5000}")
    shown = netkv_in_process("scenario", "show", "quickstart", "--json").document
    assert shown["warnings"] == []
    text = netkv_in_process("scenario", "show", str(short_scenario), *load, COLUMNS="300").out
    assert "# Warning: A load of 5,000 operations/s cannot be served with nocache" in text
    options = ("--mode", "live", "--scheme", "nocache", "--set", "expect=[]", "--json")
    result = netkv("scenario", "run", str(short_scenario), *options, *load)
    (warning,) = result.document["warnings"]
    assert "cannot be served with nocache" in warning
    before, _, after = result.err.partition(f"Warning: {warning}")
    assert "runs take" in before or "run takes" in before
    assert "nocache: starting" in after


def test_baseline_of_a_comparison_is_named_and_selectable(
    netkv_in_process: Netkv, home: Path
) -> None:
    assert home
    with Store() as store:
        first, second = record_comparison(store)
    for order in ((first, second), (second, first)):
        found = netkv_in_process("runs", "compare", *order, "--json").document
        assert found["baseline"] == "nocache"
    text = netkv_in_process("runs", "compare", second, first).out
    assert "Ratios are to nocache" in text
    assert "to nocache" in text.splitlines()[2]
    for baseline in ("netcache", second, second[:-3]):
        found = netkv_in_process(
            "runs", "compare", first, second, "--baseline", baseline, "--json"
        ).document
        assert found["baseline"] == "netcache"
    result = netkv_in_process("runs", "compare", first, second, "--baseline", "netcash")
    assert result.status == 2
    assert "--baseline netcash:" in result.err
    assert "Schemes of these runs: nocache, netcache." in result.err
