"""Formatting of numbers. Rates are operations per second, latencies microseconds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from netkv.metrics.metric import SHARE

if TYPE_CHECKING:
    from netkv.scenarios.results import Interval

NOTHING = "-"
"""Text of a value that is unknown, or undefined for a scheme."""


def rate(value: float | None) -> str:
    """`12,345`."""
    return NOTHING if value is None else f"{value:,.0f}"


def latency(value: float | None) -> str:
    """`812 µs`, `3.41 ms` or `1.20 s`."""
    if value is None:
        return NOTHING
    if value < 1000:
        return f"{value:.0f} µs"
    return f"{value / 1000:.2f} ms" if value < 1_000_000 else f"{value / 1_000_000:.2f} s"


def seconds(value: float | None) -> str:
    """`812 µs`, `3.41 ms` or `1.20 s`, from seconds."""
    return latency(None if value is None else value * 1e6)


def bandwidth(mib_per_s: float | None) -> str:
    """`0.125 MiB/s`."""
    return NOTHING if mib_per_s is None else f"{mib_per_s:.3g} MiB/s"


def share(value: float | None) -> str:
    """`48.1%`."""
    return NOTHING if value is None else f"{100 * value:.1f}%"


def factor(value: float | None) -> str:
    """`2.61x`."""
    return NOTHING if value is None else f"{value:.2f}x"


def number(value: float | None) -> str:
    """`1.04`."""
    return NOTHING if value is None else f"{value:.2f}"


def show(unit: str, *, whole: bool = False) -> Callable[[float | None], str]:
    """The format of a unit. Units without one have that of counts if `whole`, else of numbers."""
    if unit in _SHOWN:
        return _SHOWN[unit]
    return count if whole else number


def count(value: float | None) -> str:
    """`1,024`."""
    return NOTHING if value is None else f"{value:,.0f}"


_SHOWN: dict[str, Callable[[float | None], str]] = {
    "operations/s": rate,
    "keys/s": rate,
    "µs": latency,
    "s": seconds,
    "MiB/s": bandwidth,
    SHARE: share,
}
"""Unit → format."""


def spread(value: Interval | None, show: Callable[[float | None], str]) -> str:
    """A mean with the half width of its confidence interval, if known: `2,010 ± 35`."""
    if value is None:
        return NOTHING
    if value.ci95 is None:
        return show(value.mean)
    return f"{show(value.mean)} ± {show(value.ci95)}"


def moment(seconds: float) -> str:
    """Seconds since the epoch as local time: `2026-11-21 06:15:02`."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


def duration(seconds: float) -> str:
    """`45 s`, `3 min 20 s` or `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def params(values: dict[str, object]) -> str:
    """A sweep point: `zipf 0.9, writes 0.05`."""
    return ", ".join(f"{path.rsplit('.', 1)[-1]} {value}" for path, value in values.items())
