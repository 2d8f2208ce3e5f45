"""Counts of a live rack since it came up, which never decrease, for monitoring systems.

The counters of a node begin at 0 when it is started again; here they continue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from netkv.metrics.rises import Rises
from netkv.model.report import RackSample

if TYPE_CHECKING:
    from netkv.live.rack import LiveRack

_CLIENT = ("reads", "writes", "hits", "retries", "lost")
_SERVER = ("served", "dropped")


class Totals:
    """Sums over the samples of a rack."""

    def __init__(self) -> None:
        self._rises = Rises()
        self._client: Counter[str] = Counter()
        self._control_bytes: Counter[str] = Counter()
        self._servers: dict[str, Counter[str]] = {}
        self._nodes: dict[str, Counter[str]] = {}
        self._ports: dict[str, dict[str, Counter[str]]] = {}
        """Of each switch."""

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
            for port, of_port in counts.get("ports", {}).items():
                self._rise(self._ports.setdefault(node, {}), port, of_port, node)
        for node, program in rack.programs.items():
            self._rise(self._nodes, node, {"received": program.received, "sent": program.sent})

    def to_json(self) -> dict[str, Any]:
        """The sums: `client`, `servers`, `nodes`, `ports`, `control_plane_bytes`."""
        return {
            "client": dict(self._client),
            "servers": {name: dict(counts) for name, counts in self._servers.items()},
            "nodes": {name: dict(counts) for name, counts in self._nodes.items()},
            "ports": {
                node: {port: dict(counts) for port, counts in ports.items()}
                for node, ports in self._ports.items()
            },
            "control_plane_bytes": dict(self._control_bytes),
        }

    def _rise(
        self, sums: dict[str, Counter[str]], owner: str, counts: Mapping[str, Any], *within: str
    ) -> None:
        known = {name: count for name, count in counts.items() if type(count) is int}
        rises = self._rises.take((*within, owner), known)
        sums.setdefault(owner, Counter()).update(rises)
