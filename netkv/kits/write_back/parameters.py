"""Parameters of control planes of write-back caches that are no options of users."""

from __future__ import annotations

from dataclasses import dataclass

from netkv.control.base import SECOND, Nanoseconds
from netkv.control.cache_parameters import CacheParameters


@dataclass(frozen=True, kw_only=True)
class WriteBackParameters(CacheParameters):
    """Parameters of every write-back cache.

    `incarnation_length`: ns for which a switch keeps its incarnation. `tries`: transmissions of a
    request before its receiver is reported as silent. `max_bulk`: like `max_in_flight`, for
    snapshots and recoveries.
    """

    incarnation_length: Nanoseconds = 600 * SECOND
    tries: int = 12
    max_bulk: int = 256
