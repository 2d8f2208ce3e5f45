"""What a search varies: an option with a range or a list of values.

workload.zipf=0.5..1.2
workload.arrivals.rate=10k..1M log
lab.servers=4..64 int log
workload.mix=ycsb-a,ycsb-b
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from netkv import yaml_text
from netkv.errors import UsageError
from netkv.yaml_text import YamlTextError

_FACTORS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)([kMG]?)"
_RANGE = re.compile(rf"{_NUMBER}\.\.{_NUMBER}((?:\s+(?:log|int))*)")
_FORMS = (
    "It should look like workload.zipf=0.5..1.2, workload.arrivals.rate=10k..1M log, "
    "lab.servers=4..64 int, or workload.mix=ycsb-a,ycsb-b."
)


@dataclass(frozen=True)
class Range:
    """All values between two, these included."""

    path: str
    low: float
    high: float
    log: bool = False
    """Whether equal ratios, not equal differences, are equally far apart."""
    integer: bool = False

    def at(self, share: float) -> float | int:
        """The value at 0 (the low end) to 1 (the high end)."""
        if self.log:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + (self.high - self.low) * share
        value = min(max(value, self.low), self.high)
        return round(value) if self.integer else float(f"{value:.6g}")

    def to_check(self) -> tuple[float | int, ...]:
        """Values that an option must accept: the ends."""
        return self.at(0), self.at(1)

    def share(self, value: float) -> float:
        """Where a value lies, 0 to 1."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Choice:
    """Some values."""

    path: str
    values: tuple[Any, ...]

    def at(self, share: float) -> Any:
        """The value at 0 to 1."""
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]

    def to_check(self) -> tuple[Any, ...]:
        """Values that an option must accept: all."""
        return self.values


Axis = Range | Choice


def parse(text: str) -> Axis:
    """Reads an axis; raises `UsageError`."""
    path, equals, values = text.partition("=")
    path, values = path.strip(), values.strip()
    if not equals or not path or not values:
        raise UsageError(f"--over {text!r}: there is no option with values. {_FORMS}")
    found = _RANGE.fullmatch(values)
    if found is None:
        if ".." in values:
            raise UsageError(f"--over {text!r}: '{values}' is no range. {_FORMS}")
        try:
            return Choice(path, tuple(yaml_text.scalar(it.strip()) for it in values.split(",")))
        except YamlTextError as error:
            raise UsageError(f"--over {text!r}: it {error} {_FORMS}") from error
    low = float(found[1]) * _FACTORS[found[2]]
    high = float(found[3]) * _FACTORS[found[4]]
    words = found[5].split()
    if low >= high:
        raise UsageError(f"--over {text!r}: the first value must be below the second.")
    if "log" in words and low <= 0:
        raise UsageError(f"--over {text!r}: with 'log', both values must be above 0.")
    integer = "int" in words
    if integer and (low != int(low) or high != int(high)):
        raise UsageError(f"--over {text!r}: with 'int', both values must be whole numbers.")
    return Range(path, low, high, "log" in words, integer)
