"""The parser of redis-benchmark's output."""

from __future__ import annotations

import pytest

from netkv.bench.stores import percentiles

HEADER = (
    '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms",'
    '"p95_latency_ms","p99_latency_ms","max_latency_ms"\n'
)


def test_rate_and_latencies_of_redis_benchmark() -> None:
    found = percentiles(HEADER + '"GET","250000.00","0.100","0.010","0.095","0.2","0.250","0.4"\n')
    assert found is not None
    assert found.rate == 250_000
    assert found.ns_p50 == pytest.approx(95_000)
    assert found.ns_p99 == pytest.approx(250_000)


def test_run_of_less_than_a_millisecond_has_no_rate() -> None:
    """redis-benchmark divides by whole milliseconds, and then prints `inf`."""
    assert percentiles(HEADER + '"GET","inf","0.1","0.0","0.1","0.2","0.2","0.4"\n') is None
