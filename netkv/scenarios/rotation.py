"""Server rotation: a rack of many servers, measured two servers at a time.

Evaluations with two server machines measure so: the busiest server alone, then with each of the
others in turn. In every turn the clients send their requests to these servers only. What the whole
rack would do is put together from the turns (docs/use/scenarios.md): the mean of the busiest
server's throughput over all turns, and of each other server its throughput scaled by that mean over
the busiest server's throughput in the same turn.

For latency at a load (a throttled closed loop) every server has two turns. The first ones are
saturated. The rate of each second one is the wanted rate times the share of its first turn in what
the whole rack does. Latency is that of the busiest server's operations, averaged over the second
turns, and of all other servers' together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from netkv._engine import Histogram, owner_index
from netkv.errors import NetkvError
from netkv.model.report import RackSample
from netkv.model.spec import ClosedLoop, Throttled
from netkv.scenarios.popularity import Popularity


def busiest(hottest: Sequence[bytes], popularity: Popularity, servers: int) -> int:
    """The server with the largest share of the requests.

    `hottest`: the most popular keys, the hottest first; others are spread evenly.
    """
    shares = [0.0] * servers
    for rank, key in enumerate(hottest, start=1):
        shares[owner_index(key, servers)] += popularity.of(rank)
    return shares.index(max(shares))


@dataclass
class Turn:
    """What was counted while two servers had their turn."""

    first: int
    """The busiest server."""
    other: int
    """The other one; the same in the turn that the busiest server has alone."""
    seconds: float = 0.0
    completed: int = 0
    of_first: int = 0
    """Completed operations for the busiest server."""
    served_first: int = 0
    """Operations that the busiest server itself has served."""
    served_other: int = 0
    rate: float | None = None
    """Operations per second at most; None: the servers are saturated."""
    latency: Histogram = field(default_factory=Histogram, compare=False)
    latency_of_other: Histogram = field(default_factory=Histogram, compare=False)
    """Of the operations for the other server."""

    def add(self, sample: RackSample) -> None:
        """Adds an interval."""
        counts = sample.client_statistics
        self.seconds += sample.client.interval
        self.completed += int(counts["completed"])
        self.of_first += int(counts["completed_of_first"])
        self.served_first += sample.server_served[self.first]
        self.served_other += sample.server_served[self.other]
        self.latency.add(Histogram(sample.client.latency))
        if of_other := counts.get("latency_of_other"):
            self.latency_of_other.add(Histogram(of_other))


@dataclass(frozen=True)
class WholeRack:
    """What all servers would do at once, in operations per second."""

    throughput: float
    server_load: list[float]
    """Operations that each server itself serves."""
    latency: Histogram


def put_together(turns: Sequence[Turn]) -> WholeRack:
    """The rack from all turns.

    Raises `NetkvError` if the busiest server has completed nothing in one of them, since the others
    count in relation to it.
    """
    for turn in turns:
        if not (turn.of_first and turn.seconds):
            raise NetkvError(
                f"Server {turn.first}, the busiest one, has completed no operation in its turn "
                f"with server {turn.other}, so the whole rack cannot be put together from the "
                f"turns ('workload.rotation'). Use longer turns ('duration'), or fewer faults."
            )
    mean = fmean(turn.of_first / turn.seconds for turn in turns)
    load = [0.0] * len(turns)
    load[turns[0].first] = fmean(turn.served_first / turn.seconds for turn in turns)
    throughput = mean
    for turn in turns:
        if turn.other != turn.first:
            scale = mean / turn.of_first
            throughput += (turn.completed - turn.of_first) * scale
            load[turn.other] = turn.served_other * scale
    return WholeRack(throughput, load, _latency(turns))


def _latency(turns: Sequence[Turn]) -> Histogram:
    """The busiest server's operations of all turns, and each other server's as often as there are
    turns: the same as the mean of the former and the sum of the latter."""
    latency = Histogram()
    for turn in turns:
        latency.add(turn.latency)
        for _ in turns[1:]:
            latency.add(turn.latency_of_other)
    return latency


class Rotation:
    """The turns of a measured part of `duration` seconds."""

    def __init__(
        self, first: int, servers: int, duration: float, arrivals: ClosedLoop | Throttled
    ) -> None:
        pairs = [first, *(server for server in range(servers) if server != first)]
        self._arrivals = arrivals
        self.saturated = [Turn(first, other) for other in pairs]
        self._throttled = (
            [Turn(first, other) for other in pairs] if isinstance(arrivals, Throttled) else []
        )
        self._all = [*self.saturated, *self._throttled]
        self._seconds = duration / len(self._all)
        self._begun = 0

    @property
    def turns(self) -> list[Turn]:
        """The turns that the rack is put together from."""
        return self._throttled or self.saturated

    def next_at(self) -> float | None:
        """When the next turn begins, in seconds of the measured part; None in the last one."""
        return self._begun * self._seconds if self._begun < len(self._all) else None

    def take(self, elapsed: float) -> Turn | None:
        """The turn that begins by now, if any."""
        at = self.next_at()
        if at is None or at > elapsed:
            return None
        turn = self._all[self._begun]
        if self._throttled and self._begun == len(self.saturated):
            self._set_rates()
        self._begun += 1
        return turn

    def commands(self, turn: Turn) -> list[dict[str, Any]]:
        """The commands to the load generator with which a turn begins."""
        servers = {"do": "turn", "first": turn.first, "other": turn.other}
        arrivals = self._arrivals
        if not isinstance(arrivals, Throttled):
            return [servers]
        if turn.rate is None:
            return [servers, {"do": "outstanding", "value": arrivals.threads}]
        return [servers, {"do": "throttle", "threads": arrivals.threads, "rate": turn.rate}]

    def _set_rates(self) -> None:
        """Aims each throttled turn at its share of the wanted rate."""
        assert isinstance(self._arrivals, Throttled), "only throttled turns have rates"
        factor = self._arrivals.rate / put_together(self.saturated).throughput
        for turn, before in zip(self._throttled, self.saturated, strict=True):
            turn.rate = factor * before.completed / before.seconds

    def add(self, sample: RackSample) -> None:
        """Counts an interval of the turn that has begun."""
        self._all[self._begun - 1].add(sample)
