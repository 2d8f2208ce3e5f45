"""Run details have the counts of write-back, for schemes with write-back only."""

from __future__ import annotations

from netkv.report import metrics, tables
from netkv.runs import Store, StoreSink
from netkv.runs.records import RunRecord
from tests.report.terminal import text_of
from tests.runs.recorded_runs import result, samples, start


def recorded(store: Store, run_id: str, **counts: int) -> RunRecord:
    run = start(run_id, "farreach")
    with StoreSink(store) as sink:
        sink.begin(run)
        measured = list(samples(start(run_id, "netcache")))
        for sample in measured:
            sink.sample(run_id, sample)
        whole = result(start(run_id, "netcache"), measured)
        sink.finish(whole.model_copy(update={"scheme": "farreach", **counts}))
    return store.record(run_id)


def details(run: RunRecord) -> str:
    return text_of(tables.run_details(run))


def test_details_have_preserved_unknown_and_ignored_counts(store: Store) -> None:
    run = recorded(
        store, "r1", preserved_peak=1024, preserved_peak_bytes=155_648, unknown=7, ignored=2
    )
    (line,) = [line for line in details(run).splitlines() if line.startswith("FarReach")]
    assert "peak of preserved records 1,024, " in line
    assert "peak of preserved bytes 155,648" in line
    assert "writes given up as unknown 7, ignored answers of a switch 2" in line
    assert metrics.of_run(run, "preserved") == 1024, "the peak of the run"
    assert metrics.of_run(run, "unknown") == 7


def test_details_of_other_schemes_have_no_such_counts(store: Store) -> None:
    assert "FarReach" not in details(recorded(store, "r1"))
