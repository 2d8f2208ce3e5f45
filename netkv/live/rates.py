"""Rates of a live rack: from its samples, and from the counters of its nodes.

The load of servers and the figures of the load generator come from `RackSample`. Those of switches,
links and external clients are rises of counters that `LiveRack.sample` has read
(`netkv.metrics.rises`). A node that runs and has not answered has no rates; those of its next
answer are over the time since its last one.

A switch counts frames and bytes at each port. The rates of a link are those of its port at the
switch; while the switch does not answer, they are the frames that the node at the end has counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netkv.live.diagram import DiagramLink
from netkv.metrics.drops import SWITCH_DROPS
from netkv.metrics.rises import Rises
from netkv.model.report import ClientSample, RackSample

if TYPE_CHECKING:
    from netkv.live.external_clients import ExternalClient
    from netkv.live.rack import LiveRack
    from netkv.schemes.scheme import Scheme


class Rates:
    """The counters of each node at its last answer."""

    def __init__(self, links: Sequence[DiagramLink]) -> None:
        """`links`: of the rack (`diagram.of_rack`)."""
        self._links = [link for link in links if link.a_port is not None]
        self._rises = Rises()
        self._at: dict[str, float] = {}
        """When each node has answered."""
        self._sampled_at: float | None = None

    def begin(self, rack: LiveRack) -> None:
        """Begins an interval with the counters that the rack has just read."""
        self._count(rack)

    def take(self, rack: LiveRack, sample: RackSample) -> dict[str, Any] | None:
        """What `netkv.api.models.labs.LabSample` describes, without its number; None if there was
        no interval yet."""
        at, sampled_at = dict(self._at), self._sampled_at
        of_nodes, of_links = self._count(rack)
        now = self._sampled_at
        if sampled_at is None or now is None or now <= sampled_at:
            return None
        seconds = now - sampled_at

        def rates(node: str, rises: Mapping[str, Any]) -> dict[str, float]:
            # The load generator measures its interval itself; that of a late answer is missing.
            own = sample.client.interval if node == rack.client.name else 0.0
            over = max(own, self._at.get(node, now) - at.get(node, sampled_at))
            return {name: rise / over for name, rise in rises.items()}

        nodes = {node: rates(node, rises) for node, rises in of_nodes.items()}
        links = {
            link.name: rates(link.a, of_links[link.name])
            for link in self._links
            if link.name in of_links
        }
        return {
            "time": sample.time,
            "interval": seconds,
            "phase": sample.phase,
            **_load(sample, rack.programs.values()),
            "server_load": [
                None if server in sample.silent_servers else load
                for server, load in enumerate(sample.server_load)
            ],
            "server_dropped": list(sample.server_dropped),
            "cached": sample.cached,
            "control_plane_bytes_per_s": {
                name: count / seconds
                for name, count in sample.control_plane_bytes_by_switch.items()
            },
            "control_dropped": sample.control_dropped,
            "reports_dropped": sample.reports_dropped,
            "switches": {
                it.name: _switch(nodes[it.name]) for it in rack.switch_nodes if it.name in nodes
            },
            "links": {**_of_hosts(rack, nodes), **_of_ports(links)},
            "programs": {
                name: {
                    "to_per_s": each.received_per_s,
                    "from_per_s": each.sent_per_s,
                    "reads_per_s": each.reads_per_s,
                    "hits_per_s": each.hits_per_s,
                }
                for name, each in rack.programs.items()
            },
            "running": {**rack.running, rack.controller.name: rack.controller.running},
            "metrics": own_metrics(rack.scheme, sample),
        }

    def _count(self, rack: LiveRack) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
        """The rises of the counters of each node that has answered, and of those of the port of
        each link."""
        self._sampled_at = time.monotonic()
        self._at.update(dict.fromkeys(rack.counters, self._sampled_at))
        nodes = {node: self._rises.take(node, counts) for node, counts in rack.counters.items()}
        ports = {
            link.name: rack.counters.get(link.a, {}).get("ports", {}).get(str(link.a_port))
            for link in self._links
        }
        links = {
            name: self._rises.take(("link", name), port) for name, port in ports.items() if port
        }
        return nodes, links


def own_metrics(scheme: Scheme, sample: RackSample) -> list[dict[str, Any]]:
    """The scheme's own metrics of an interval, those that each interval has."""
    return [
        {
            "name": each.name,
            "label": each.label,
            "unit": each.unit,
            "value": each.source.of_interval(sample),
        }
        for each in scheme.metrics
        if each.source.has_intervals
    ]


def _of_hosts(
    rack: LiveRack, rates: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float | None]]:
    """Rates of links as the nodes at their ends have counted them, without bytes."""
    switches = {it.name for it in rack.switch_nodes}
    return {
        name: {
            "to_per_s": rate["received"],
            "from_per_s": rate["sent"],
            "to_bytes_per_s": None,
            "from_bytes_per_s": None,
        }
        for name, rate in rates.items()
        if name not in switches and "received" in rate
    }


def _of_ports(rates: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float | None]]:
    """Rates of links as the switches at their ends have counted them."""
    return {
        link: {
            "to_per_s": rate["sent"],
            "from_per_s": rate["received"],
            "to_bytes_per_s": rate["sent_bytes"],
            "from_bytes_per_s": rate["received_bytes"],
        }
        for link, rate in rates.items()
    }


def _load(sample: RackSample, programs: Iterable[ExternalClient]) -> dict[str, Any]:
    """The figures of the load generator; the hit ratio is that of programs, too."""
    client = sample.client

    def rate(count: int) -> float:
        return count / client.interval if client.interval > 0 else 0.0

    others = list(programs)
    reads = rate(client.reads) + sum(each.reads_per_s for each in others)
    hits = rate(client.hits) + sum(each.hits_per_s for each in others)
    return {
        "throughput": client.throughput,
        "reads_per_s": rate(client.reads),
        "writes_per_s": rate(client.writes),
        "hits_per_s": rate(client.hits),
        "hit_ratio": hits / reads if reads else None,
        "retries": client.retries,
        "lost": client.lost,
        "stale_reads": client.stale_reads,
        "latency_us": _latency(client, sample.client_statistics.get("latency_ns")),
        "linearizable": sample.client_statistics.get("linearizable"),
    }


def _latency(client: ClientSample, found: Mapping[str, float] | None) -> dict[str, float] | None:
    if not client.completed or found is None:
        return None
    return {name: value / 1000 for name, value in found.items()}


def _switch(rise: Mapping[str, float]) -> dict[str, float]:
    return {
        "received_per_s": rise.get("received", 0.0),
        "sent_per_s": rise.get("sent", 0.0),
        "received_bytes_per_s": rise.get("received_bytes", 0.0),
        "sent_bytes_per_s": rise.get("sent_bytes", 0.0),
        "packet_ins_per_s": rise.get("packet_ins", 0.0),
        "packet_outs_per_s": rise.get("packet_outs", 0.0),
        "digests_per_s": rise.get("digests", 0.0),
        "drops_per_s": sum(rise.get(name, 0.0) for name in SWITCH_DROPS),
    }
