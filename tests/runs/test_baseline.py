"""Baselines of comparisons do not depend on the order of runs, and the note states them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from netkv.errors import UsageError
from netkv.runs import RunRecord, Store, StoreSink
from netkv.runs.compare import Comparison, compare
from tests.runs.recorded_runs import record, start

SCHEMES = ["netcache", "nocache"]
"""NetCache is first in this scenario, and has 2.6 times the throughput."""


def stored(store: Store, *runs: dict[str, Any]) -> list[RunRecord]:
    """Store runs with these changes, from the oldest to the newest."""
    ids = []
    with StoreSink(store) as sink:
        for at, changes in enumerate(runs):
            parameters = {"schemes": SCHEMES, **changes.pop("parameters", {})}
            run = start(
                f"r{len(store.heads())}",
                **{"started_at": 1_790_000_000.0 + at, "parameters": parameters, **changes},
            )
            record(sink, run)
            ids.append(run.id)
    return store.records(ids)


def points(*values: float) -> list[dict[str, Any]]:
    """Both schemes at each point; which is stored first alternates."""
    order = itertools.cycle((["nocache", "netcache"], ["netcache", "nocache"]))
    return [
        {"scheme": scheme, "params": {"workload.zipf": value}}
        for value in values
        for scheme in next(order)
    ]


def ratios(compared: Comparison) -> dict[tuple[str, Any], float | None]:
    return {
        (row.scheme, row.params.get("workload.zipf")): round(row.ratio.mean, 1)
        if row.ratio
        else None
        for row in compared.rows
    }


def test_first_scheme_is_the_baseline_at_each_point_in_any_order(store: Store) -> None:
    records = stored(store, *points(0.9, 0.95, 0.99))
    for order in (records, records[::-1], records[3:] + records[:3]):
        compared = compare(order)
        assert compared.baseline == "netcache"
        assert ratios(compared) == {
            **{("netcache", zipf): 1.0 for zipf in (0.9, 0.95, 0.99)},
            **{("nocache", zipf): 0.4 for zipf in (0.9, 0.95, 0.99)},
        }
        assert compared.note == (
            "Ratios are to netcache, the first scheme of 'quickstart', at the same sweep point."
        )
        assert {row.scheme for row in compared.rows if row.baseline} == {"netcache"}


def test_order_of_requested_schemes_decides_the_baseline(store: Store) -> None:
    """As with `--scheme nocache --scheme netcache`. A run of a single scheme has no effect."""
    asked = {"parameters": {"schemes": ["nocache", "netcache"]}}
    records = stored(store, {"scheme": "netcache", **asked}, {"scheme": "nocache", **asked})
    assert compare(records).baseline == "nocache"
    alone = stored(
        store, {"scheme": "netcache", "parameters": {"schemes": ["netcache"]}, "seed": 9}
    )
    for order in ([*records, *alone], [*alone, *records]):
        assert compare(order).baseline == "nocache"


def test_without_the_first_scheme_the_next_one_is_the_baseline(store: Store) -> None:
    lists = {"parameters": {"schemes": ["farreach", "nocache", "netcache"]}}
    records = stored(store, {"scheme": "netcache", **lists}, {"scheme": "nocache", **lists})
    compared = compare(records)
    assert compared.baseline == "nocache"
    assert compared.note == (
        "Ratios are to nocache: farreach, the first scheme of 'quickstart', "
        "is not among these runs."
    )


def test_point_without_the_baseline_has_no_ratio_and_is_named(store: Store) -> None:
    records = stored(store, *points(0.9, 0.99))
    compared = compare([r for r in records if (r.scheme, *r.params.values()) != ("netcache", 0.99)])
    assert ratios(compared)["nocache", 0.99] is None
    assert ratios(compared)["nocache", 0.9] == 0.4
    assert compared.note.endswith(
        "There is no ratio where no run of netcache succeeded: zipf 0.99."
    )


def test_failed_run_is_no_baseline(store: Store) -> None:
    records = stored(store, *points(0.9))
    records = [
        run.model_copy(update={"status": "failed"}) if run.scheme == "netcache" else run
        for run in records
    ]
    compared = compare(records)
    assert ratios(compared) == {("nocache", 0.9): None, ("netcache", 0.9): None}
    assert "no run of netcache succeeded" in compared.note


def test_each_scenario_has_its_own_baseline(store: Store) -> None:
    other = {"scenario": "other", "parameters": {"schemes": ["nocache", "netcache"]}}
    records = stored(
        store,
        {"scheme": "nocache"},
        {"scheme": "netcache"},
        {"scheme": "netcache", **other},
        {"scheme": "nocache", **other},
    )
    for order in (records, records[::-1]):
        compared = compare(order)
        assert compared.baseline is None, "there are two baselines"
        found = {(row.scenario, row.scheme): row for row in compared.rows}
        assert found["quickstart", "netcache"].baseline
        assert found["other", "nocache"].baseline
        assert "In 'quickstart': Ratios are to netcache" in compared.note
        assert "In 'other': Ratios are to nocache" in compared.note


def test_baseline_of_runs_of_one_scheme_is_the_oldest_run(store: Store) -> None:
    """The runs have different settings."""
    records = stored(
        store,
        {"scheme": "netcache", "parameters": {"lab": {"servers": 8}}},
        {"scheme": "netcache", "parameters": {"lab": {"servers": 16}}},
    )
    for order in (records, records[::-1]):
        compared = compare(order)
        assert {row.relative_to for row in compared.rows} == {"r0"}
        assert compared.note == "Ratios are to run r0 (netcache), the oldest of these runs."


def test_baseline_of_a_run_has_the_same_settings(store: Store) -> None:
    records = stored(
        store,
        *(
            {"scheme": scheme, "parameters": {"lab": {"servers": servers}}}
            for servers in (8, 16)
            for scheme in ("nocache", "netcache")
        ),
    )
    rows = compare(records[::-1]).rows
    assert {row.runs[0]: row.relative_to for row in rows} == {
        "r0": "r1",
        "r1": "r1",
        "r2": "r3",
        "r3": "r3",
    }


def test_baseline_can_be_given_as_scheme_or_run(store: Store) -> None:
    records = stored(store, *points(0.9, 0.99))
    compared = compare(records, "nocache")
    assert ratios(compared)["netcache", 0.99] == 2.6
    assert compared.note == "Ratios are to nocache at the same sweep point, as requested."
    one = compare(records, "r0")
    assert {row.relative_to for row in one.rows} == {"r0"}
    assert one.note == "Ratios are to run r0 (nocache at zipf 0.9), as requested."
    with pytest.raises(UsageError, match="'netcash' is neither a scheme nor a run") as caught:
        compare(records, "netcash")
    assert "netcache" in str(caught.value)


def test_single_run_has_no_note(store: Store) -> None:
    compared = compare(stored(store, {"scheme": "nocache"}))
    assert (compared.note, compared.baseline) == ("", None)
    assert ratios(compared) == {("nocache", None): 1.0}
