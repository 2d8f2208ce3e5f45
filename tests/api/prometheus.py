"""What `/metrics` exposes, for tests."""

from __future__ import annotations

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.api.live_lab import Api
from tests.waiting import PATIENCE_S


def metrics(api: Api) -> dict[str, list[tuple[dict[str, str], float]]]:
    """The samples of `/metrics` by their names."""
    answer = httpx.get(f"{api.url}/metrics", timeout=PATIENCE_S)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(answer.text):
        assert family.documentation
        assert family.type in ("gauge", "counter")
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def of(found: list[tuple[dict[str, str], float]], **labels: str) -> float:
    """The value with these labels; there is one."""
    (value,) = [value for its, value in found if labels.items() <= its.items()]
    return value
