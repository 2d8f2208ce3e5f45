"""The table of metrics: those of all runs, then those of each scheme."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from netkv.errors import NetkvError
from netkv.metrics.common import COMMON
from netkv.metrics.metric import Metric
from netkv.metrics.sources import Value
from netkv.schemes.registry import all_schemes
from netkv.schemes.scheme import Scheme

Rows = tuple[Metric, ...]


def all_metrics() -> Rows:
    """All metrics; raises `NetkvError` if two have the same name."""
    return tuple(_by_name().values())


def find(name: str) -> Metric | None:
    """The metric of that name; None if there is none."""
    return _by_name().get(name)


def get(name: str) -> Metric:
    """The metric of that name; raises `KeyError`."""
    return _by_name()[name]


def of_scheme(scheme: Scheme) -> Rows:
    """The metrics of a scheme's runs: the common metrics that apply to it, and its own."""
    return (*(each for each in COMMON if each.applies(scheme.traits)), *scheme.metrics)


def is_shown(name: str, scheme: str) -> bool:
    """Whether tables and figures show a metric for a scheme, by their names."""
    return all(get(name).shown(each.traits) for each in all_schemes() if each.name == scheme)


def recorded() -> Mapping[str, Value]:
    """Names of the metrics that results contain, each with its absent value."""
    return _documents(_own_rows())[0]


def sampled() -> Mapping[str, Value]:
    """Names of the metrics that intervals contain, each with its absent value."""
    return _documents(_own_rows())[1]


def _by_name() -> Mapping[str, Metric]:
    return _joined(_own_rows())


def _own_rows() -> tuple[Rows, ...]:
    return tuple(scheme.metrics for scheme in all_schemes())


@lru_cache(maxsize=16)
def _joined(own: tuple[Rows, ...]) -> Mapping[str, Metric]:
    found: dict[str, Metric] = {}
    for metric in (*COMMON, *(each for rows in own for each in rows)):
        if found.setdefault(metric.name, metric) is not metric:
            raise NetkvError(
                f"There are two metrics '{metric.name}': \"{found[metric.name].label}\" and "
                f'"{metric.label}". A scheme needs another name for its own.'
            )
    return found


@lru_cache(maxsize=16)
def _documents(own: tuple[Rows, ...]) -> tuple[Mapping[str, Value], Mapping[str, Value]]:
    rows = _joined(own).values()
    return (
        _absent(each for each in rows if each.recorded),
        _absent(each for each in rows if each.sampled),
    )


def _absent(rows: Iterable[Metric]) -> Mapping[str, Value]:
    return {each.name: each.absent for each in rows}
