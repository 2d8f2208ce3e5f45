"""Counts of a live rack since it came up, which never decrease, for monitoring systems.

The counters of a node begin at 0 when it is started again; here they continue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from netkv.rack.report import RackSample

if TYPE_CHECKING:
    from netkv.lab.rack import LiveRack

_CLIENT = ("reads", "writes", "hits", "retries", "lost")
_SERVER = ("served", "dropped")


class Totals:
    """Sums over the samples of a rack."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], int] = {}
        self._client: Counter[str] = Counter()
        self._control_bytes: Counter[str] = Counter()
        self._servers: dict[str, Counter[str]] = {}
        self._nodes: dict[str, Counter[str]] = {}

    def add(self, rack: LiveRack, sample: RackSample) -> None:
        """Adds the sample that was just taken; to be called for every sample."""
        for name in _CLIENT:
            self._client[name] += getattr(sample.client, name)
        self._control_bytes.update(sample.control_plane_bytes_by_switch)
        for server, counts in enumerate(sample.server_statistics):
            known = {name: counts[name] for name in _SERVER if name in counts}
            self._rise(self._servers, str(server), known)
        for node, counts in rack.counters.items():
            self._rise(self._nodes, node, counts)
        for node, program in rack.programs.items():
            self._rise(self._nodes, node, {"received": program.received, "sent": program.sent})

    def to_json(self) -> dict[str, Any]:
        """The sums: `client`, `servers`, `nodes`, `control_plane_bytes`."""
        return {
            "client": dict(self._client),
            "servers": {name: dict(counts) for name, counts in self._servers.items()},
            "nodes": {name: dict(counts) for name, counts in self._nodes.items()},
            "control_plane_bytes": dict(self._control_bytes),
        }

    def _rise(self, sums: dict[str, Counter[str]], node: str, counts: Mapping[str, Any]) -> None:
        total = sums.setdefault(node, Counter())
        for name, value in counts.items():
            if type(value) is int:
                before = self._before.get((node, name), 0)
                total[name] += value - before if value >= before else value
                self._before[node, name] = value
