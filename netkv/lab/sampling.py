"""From what the nodes of a rack count to what happened in an interval."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from netkv.lab.report import ClientSample, CoordinatorSample


class ServerCounts:
    """What every server had counted at the last sample."""

    def __init__(self, servers: int) -> None:
        self._servers = servers
        self._before: dict[int, dict[str, float]] = {}

    def forget(self, servers: Iterable[int]) -> None:
        """These servers begin to count anew."""
        for server in servers:
            self._before.pop(server, None)

    def take(
        self, replies: Iterable[dict[str, Any]], interval: float
    ) -> tuple[tuple[float, ...], tuple[int, ...], tuple[dict[str, Any], ...]]:
        """Operations per second, dropped requests and all counts of each server, from what their
        processes answered. A server of a process that did not answer counts as zero.
        """
        load = [0.0] * self._servers
        dropped = [0] * self._servers
        statistics: list[dict[str, Any]] = [{} for _ in range(self._servers)]
        for reply in replies:
            for key, counts in reply.get("servers", {}).items():
                server = int(key)
                before = self._before.get(server, {})
                self._before[server] = counts
                statistics[server] = counts
                load[server] = (counts["served"] - before.get("served", 0)) / max(interval, 1e-9)
                dropped[server] = int(counts["dropped"] - before.get("dropped", 0))
        return tuple(load), tuple(dropped), tuple(statistics)


class CoordinatorCounts:
    """What the coordinator had counted at the last sample."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._before: dict[str, Any] = {}

    def forget(self) -> None:
        """It begins to count anew."""
        self._before = {}

    def take(self, counts: dict[str, Any] | None, interval: float) -> CoordinatorSample | None:
        """What it did in the interval, from what it counts; None if it does not answer."""
        if not counts:
            return None
        before, self._before = self._before, counts

        def rise(name: str) -> float:
            return float(counts[name] - before.get(name, 0))

        return CoordinatorSample(
            interval=interval,
            busy=rise("busy_s"),
            workers=self._workers,
            requests=int(rise("requests")),
            groups=int(rise("groups")),
            refused=int(rise("overloaded")),
            dropped=int(rise("dropped")),
        )


def client_sample(reply: dict[str, Any]) -> ClientSample:
    """The load generator's answer as a sample."""
    names = (
        "completed",
        "reads",
        "writes",
        "hits",
        "retries",
        "lost",
        "not_found",
        "stale_reads",
        "phantom_reads",
        "overloaded",
        "unknown",
        "ignored",
        "preserved",
        "preserved_bytes",
        "preserved_peak",
        "preserved_peak_bytes",
        "keys_read",
        "groups",
    )
    counts = {name: int(reply.get(name, 0)) for name in names}
    return ClientSample(
        interval=float(reply.get("interval_s", 0.0)),
        latency=str(reply.get("latency", "")),
        **counts,
    )
