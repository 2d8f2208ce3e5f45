"""Recorded sweeps, for tests of figures."""

from __future__ import annotations

from typing import Any

from netkv.runs import RunRecord, Store, StoreSink
from tests.runs.recorded_runs import record, start


def sweep(
    store: Store,
    path: str = "workload.zipf",
    values: tuple[Any, ...] = (0, 0.9, 0.99),
    repeats: int = 3,
    **changes: Any,
) -> list[RunRecord]:
    """A sweep in which NoCache loses throughput with each value, and NetCache does not."""
    prefix = changes.pop("prefix", "s")
    with StoreSink(store) as sink:
        for at, value in enumerate(values):
            for repeat in range(repeats):
                for scheme in ("nocache", "netcache"):
                    run = start(
                        f"{prefix}-{at}-{repeat}-{scheme}",
                        scheme,
                        params={path: value},
                        repeat=repeat,
                        seed=1 + repeat,
                        started_at=1_790_000_000.0 + 100 * at + 10 * repeat,
                        **changes,
                    )
                    record(sink, run, 2000.0 / (1 + at) if scheme == "nocache" else 2000.0)
    return store.records(store.find([sink.group]))
