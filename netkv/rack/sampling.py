"""Samples of a rack: differences of its nodes' counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from netkv.metrics.drops import QUEUE_DROPS
from netkv.metrics.rises import CardRises, Rises, of_name
from netkv.model.report import ClientSample, CoordinatorSample, RackSample
from netkv.model.scheme_options import CoordinatorOptions
from netkv.schemes.spec import LabSpec


class Sampler:
    """Computes samples from the nodes' counters, which count since the start of the nodes."""

    def __init__(self, lab: LabSpec, card_hits: str | None) -> None:
        """`card_hits`: the counter of reads that cards have answered; None: no cards."""
        self.servers = ServerCounts(lab.servers)
        self.coordinator = CoordinatorCounts(CoordinatorOptions.of(lab).coordinator_workers)
        self._cards = CardRises()
        self._card_hits = card_hits
        self._groups = GroupRises()
        self._bytes = Rises()
        self._sampled_at = 0.0

    def begin(self, now: float) -> None:
        """Begin the first interval, at a time in seconds."""
        self._sampled_at = now

    def take(
        self,
        *,
        now: float,
        time: float,
        client: dict[str, Any],
        switch: Mapping[str, Any],
        servers: Iterable[dict[str, Any]],
        silent: Iterable[int] = (),
        coordinator: dict[str, Any] | None,
        cards: Iterable[Mapping[str, Any]],
        links: Mapping[str, int] | None = None,
        control_bytes: Mapping[str, int],
        record_bytes: Iterable[int],
        counts: Mapping[str, Mapping[str, Any]],
        cached: int,
    ) -> RackSample:
        """A sample from the replies of the nodes; that of a node that is down is `{}`.

        `now` is on the clock of `begin`, `time` is the time of the sample. `servers`: each reply
        with the time `at` which it came, if that is not `now`. `silent`: the servers that run and
        have not answered. `control_bytes`: bytes between controllers and each switch so far.
        `record_bytes`: bytes of records that have passed through each controller since its start.
        `cards`: counters for `CardRises`. `links`: bytes on links so far, by kind; None: unknown.
        `counts`: counters for `GroupRises`, by source.
        """
        interval = now - self._sampled_at
        served = self.servers.take(servers, silent, self._sampled_at, now)
        self._sampled_at = now
        new_bytes = self._bytes.take("control", control_bytes)
        records = self._bytes.take(
            "records", {f"{number}": size for number, size in enumerate(record_bytes)}
        )
        rises = self._groups.take(counts)
        counted = self._cards.take(cards)
        if self._card_hits is not None:
            client = {**client, "hits": of_name(counted, self._card_hits)}
        return RackSample(
            time=time,
            client=client_sample(client),
            phase=str(client.get("phase", "down")),
            server_load=served.load,
            server_dropped=served.dropped,
            server_served=served.served,
            silent_servers=served.silent,
            interval=interval,
            switch={key: value for key, value in switch.items() if isinstance(value, int)},
            control_plane_bytes=sum(new_bytes.values()),
            control_plane_bytes_by_switch=new_bytes,
            record_bytes=sum(records.values()),
            cached=cached,
            server_statistics=served.statistics,
            client_statistics=client,
            control_dropped=rises["control"] or 0,
            reports_dropped=rises["reports"] or 0,
            dropped_frames=(rises["frames"] or 0) + sum(served.dropped),
            recirculated=rises["recirculated"],
            coordinator=self.coordinator.take(coordinator, interval),
            cards=counted,
            links=self._bytes.take("links", links or {}),
        )

    def late(self, time: float, client: dict[str, Any], cached: int) -> RackSample:
        """A sample of the load generator alone, whose answer came after the sample it was for."""
        none = (0.0,) * self.servers.count
        return RackSample(
            time=time,
            client=client_sample(client),
            phase=str(client.get("phase", "down")),
            server_load=none,
            server_dropped=(0,) * self.servers.count,
            silent_servers=frozenset(range(self.servers.count)),
            client_statistics=client,
            cached=cached,
            late=True,
            recirculated=None,
        )


@dataclass(frozen=True)
class Served:
    """What each server has done since its last answer."""

    load: tuple[float, ...]
    """Operations per second."""
    served: tuple[int, ...]
    dropped: tuple[int, ...]
    statistics: tuple[dict[str, Any], ...]
    """All counters since its start."""
    silent: frozenset[int]
    """Those that run and have not answered; they count as zero."""


_SERVED = ("served", "dropped")


class ServerCounts:
    """The counters of every server at its last answer."""

    def __init__(self, servers: int) -> None:
        self.count = servers
        self._rises = Rises()
        self._answered_at: dict[int, float] = {}

    def forget(self, servers: Iterable[int]) -> None:
        """The counters of these servers begin at 0 again."""
        for server in servers:
            self._rises.forget(server)
            self._answered_at.pop(server, None)

    def take(
        self,
        replies: Iterable[dict[str, Any]],
        silent: Iterable[int],
        since: float,
        now: float,
    ) -> Served:
        """From the replies of the server processes. A server of a process that is down counts as
        zero. `since`: the time of the last sample.
        """
        load = [0.0] * self.count
        served, dropped = [0] * self.count, [0] * self.count
        statistics: list[dict[str, Any]] = [{} for _ in range(self.count)]
        for reply in replies:
            at = float(reply.get("at", now))
            for key, counts in reply.get("servers", {}).items():
                server = int(key)
                rises = self._rises.take(server, {name: counts[name] for name in _SERVED})
                statistics[server] = counts
                seconds = at - self._answered_at.get(server, since)
                self._answered_at[server] = at
                served[server] = int(rises["served"])
                dropped[server] = int(rises["dropped"])
                load[server] = served[server] / max(seconds, 1e-9)
        return Served(
            tuple(load), tuple(served), tuple(dropped), tuple(statistics), frozenset(silent)
        )


class CoordinatorCounts:
    """The counters of the coordinator at the last sample."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._rises = Rises()

    def forget(self) -> None:
        """The counters begin at 0 again."""
        self._rises.forget("coordinator")

    def take(self, counts: dict[str, Any] | None, interval: float) -> CoordinatorSample | None:
        """A sample from the counters; None if the coordinator did not reply."""
        if not counts:
            return None
        rises = self._rises.take("coordinator", counts)
        return CoordinatorSample(
            interval=interval,
            busy=float(rises["busy_s"]),
            workers=self._workers,
            requests=int(rises["requests"]),
            groups=int(rises["groups"]),
            refused=int(rises["overloaded"]),
            dropped=int(rises["dropped"]),
        )


def client_sample(reply: dict[str, Any]) -> ClientSample:
    """A sample from the load generator's reply."""
    counts = {name: value for name, value in reply.items() if type(value) is int}
    common = {each.name for each in fields(ClientSample)}
    return ClientSample(
        interval=float(reply.get("interval_s", 0.0)),
        latency=str(reply.get("latency", "")),
        counts=counts,
        **{name: value for name, value in counts.items() if name in common},
    )


_GROUPS = {**QUEUE_DROPS, "recirculated": ("recirculated", "resubmitted")}
"""Counters by what they count: what was dropped at full queues; and further passes of packets
through a switch."""


class GroupRises:
    """How much the counters of the nodes rise between two samples, by group."""

    def __init__(self) -> None:
        self._rises = Rises()

    def take(self, sources: Mapping[str, Mapping[str, Any]]) -> dict[str, int | None]:
        """The rise of each group since the last call; None if no source has such a counter."""
        found: dict[str, int | None] = dict.fromkeys(_GROUPS)
        for source, counts in sources.items():
            known = {
                group: sum(int(counts[name]) for name in names if name in counts)
                for group, names in _GROUPS.items()
                if any(name in counts for name in names)
            }
            for group, rise in self._rises.take(source, known).items():
                found[group] = (found[group] or 0) + rise
        return found
