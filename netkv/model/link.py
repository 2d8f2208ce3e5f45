"""Links between switches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """A cable between port `a_port` of switch `a` and port `b_port` of switch `b`."""

    a: str
    a_port: int
    b: str
    b_port: int
