"""A store on a server under the load of a group: many writers, and dashboards that read meanwhile.

    python -m tests.api.group_load URL [--writers 50] [--runs 4] [--seconds 60] [--dashboards 3]

Each writer stores runs as fast as it can, as a simulation does, with two events in each. Each
dashboard is a `netkv serve`, whose event stream is read and whose pages are asked for. The command
fails if a dashboard misses a sample or event, gets one twice, or gets those of a run in another
order than they were written; or if the store at the end lacks anything.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from netkv.runs import Store, StoreSink
from tests.runs.recorded_runs import record, samples, start
from tests.waiting import PATIENCE_S, until

ROOT = Path(__file__).parents[2]
EVENTS = 2
"""In each run."""


@dataclass(frozen=True)
class Load:
    """What is written and read."""

    url: str
    writers: int = 50
    runs: int = 4
    """Of each writer."""
    seconds: int = 60
    """Length of a run, of which each is a sample."""
    dashboards: int = 3
    processes: int = 5
    """Among which the writers are divided, as threads; each has a store of its own."""

    def names(self, writer: int) -> list[str]:
        """The ids of the runs of a writer."""
        return [f"w{writer:02}-{number}" for number in range(self.runs)]


@dataclass(frozen=True)
class Outcome:
    """What was measured."""

    samples: int
    events: int
    seconds: float
    """From the first writer's start to the last one's end."""
    slowest_ms: float
    """The longest call of a sink."""
    median_ms: float
    lag_seconds: float
    """From the end of the last writer until all dashboards had everything."""
    pages: int
    """Requests to the dashboards beside their streams."""
    slowest_page_ms: float


@dataclass
class Dashboard:
    """A `netkv serve`, and what its stream has sent."""

    load: Load
    home: str
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Run → times of its samples, in the order in which they came."""
    events: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    ids: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """`sample` and `event` → ids of rows, in the order in which they came."""
    pages: list[float] = field(default_factory=list)
    """Seconds of each request."""
    problems: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "netkv", "serve", "--port", "0"],
            cwd=ROOT,
            env={**os.environ, "NETKV_STORE": self.load.url, "NETKV_HOME": self.home},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        found = None
        while found is None:
            line = self._process.stdout.readline()
            assert line, "the server has ended"
            found = re.search(r"http://[\d.]+:\d+", line)
        self._api = f"{found[0]}/api/v1"
        self._ended = threading.Event()
        self._connected = threading.Event()
        self._threads = [
            threading.Thread(target=target, daemon=True) for target in (self._follow, self._ask)
        ]
        for thread in self._threads:
            thread.start()
        assert self._connected.wait(PATIENCE_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._process.terminate()
        self._process.communicate(timeout=PATIENCE_S)
        for thread in self._threads:
            thread.join(PATIENCE_S)

    @property
    def received(self) -> tuple[int, int]:
        """Numbers of samples and events."""
        return len(self.ids["sample"]), len(self.ids["event"])

    def _follow(self) -> None:
        kind = ""
        try:
            with httpx.stream("GET", f"{self._api}/stream", timeout=None) as response:
                for line in response.iter_lines():
                    if line.startswith("event: "):
                        kind = line.removeprefix("event: ")
                        self._connected.set()
                    elif line.startswith("data: ") and kind in ("sample", "event", "dropped"):
                        self._take(kind, json.loads(line.removeprefix("data: ")))
        except httpx.HTTPError as error:
            if not self._ended.is_set():
                self.problems.append(f"its stream ended: {error!r}")

    def _take(self, kind: str, message: dict[str, Any]) -> None:
        if kind == "dropped":
            self.problems.append(f"{message['count']} messages were dropped")
            return
        kept = self.times if kind == "sample" else self.events
        kept[message["run"]].append(message[kind]["time"])
        self.ids[kind].append(message["id"])

    def _ask(self) -> None:
        paths = ("runs?limit=30", "runs?sort=throughput_ops&limit=10", "jobs", "runs?search=w01")
        with httpx.Client(timeout=PATIENCE_S) as client:
            while not self._ended.wait(0.25):
                path = paths[len(self.pages) % len(paths)]
                began = time.monotonic()
                try:
                    answer = client.get(f"{self._api}/{path}")
                except httpx.HTTPError as error:
                    if not self._ended.is_set():
                        self.problems.append(f"{path}: {error!r}")
                    return
                self.pages.append(time.monotonic() - began)
                if answer.status_code != 200:
                    self.problems.append(f"{path}: {answer.text}")


def _write(load: Load, writers: Sequence[int]) -> list[float]:
    """The writers of one process; returns the seconds of each call of their sinks."""
    with ThreadPoolExecutor(len(writers)) as pool:
        done = [pool.submit(_write_runs, load, writer) for writer in writers]
        return [spent for each in done for spent in each.result()]


def _write_runs(load: Load, writer: int) -> list[float]:
    spent: list[float] = []
    with Store(load.url) as store, StoreSink(store, command=["netkv"]) as sink:
        timed = _Timed(sink, spent)
        for number, name in enumerate(load.names(writer)):
            record(timed, start(name, repeat=number, duration=float(load.seconds)))
    # What waited because others were writing is stored at the exit.
    assert sink.loss is None, sink.loss
    return spent


class _Timed:
    """A sink whose calls are measured."""

    def __init__(self, sink: StoreSink, spent: list[float]) -> None:
        self._sink = sink
        self._spent = spent

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._sink, name)

        def measured(*arguments: Any) -> Any:
            began = time.monotonic()
            result = call(*arguments)
            self._spent.append(time.monotonic() - began)
            return result

        return measured


def run(load: Load) -> Outcome:
    """Write and read; raises `AssertionError` for what is missing, double or in another order."""
    Store(load.url).close()
    with ExitStack() as opened:
        homes = [
            opened.enter_context(tempfile.TemporaryDirectory()) for _ in range(load.dashboards)
        ]
        shown = [opened.enter_context(Dashboard(load, home)) for home in homes]
        began = time.monotonic()
        parts = [range(load.writers)[at :: load.processes] for at in range(load.processes)]
        with multiprocessing.get_context("spawn").Pool(load.processes) as pool:
            done = pool.starmap(_write, [(load, part) for part in parts if part])
        ended = time.monotonic()
        with Store(load.url) as store:
            expected = check_store(load, store)
        until(
            lambda: all(each.received >= expected or each.problems for each in shown),
            "all dashboards have everything",
        )
        lag = time.monotonic() - ended
        for each in shown:
            check_dashboard(load, each)
        pages = [seconds for each in shown for seconds in each.pages]
    spent = sorted(seconds for part in done for seconds in part)
    return Outcome(
        samples=expected[0],
        events=expected[1],
        seconds=ended - began,
        slowest_ms=1000 * spent[-1],
        median_ms=1000 * spent[len(spent) // 2],
        lag_seconds=lag,
        pages=len(pages),
        slowest_page_ms=1000 * max(pages, default=0.0),
    )


def written(load: Load) -> dict[str, list[float]]:
    """Run → times of its samples."""
    length = float(load.seconds)
    return {
        name: [sample.time for sample in samples(start(name, duration=length))]
        for writer in range(load.writers)
        for name in load.names(writer)
    }


def check_store(load: Load, store: Store) -> tuple[int, int]:
    """The store has everything once, in order; returns the numbers of samples and events."""
    runs = written(load)
    assert {head.id for head in store.heads()} == set(runs)
    assert {head.status for head in store.heads()} == {"done"}
    for name, times in runs.items():
        assert store.series(name, scalars=True)[0]["time"] == times, name
        assert len(store.events(name)) == EVENTS, name
    return sum(map(len, runs.values())), EVENTS * len(runs)


def check_dashboard(load: Load, shown: Dashboard) -> None:
    """Its stream had everything once, in order."""
    assert shown.problems == []
    assert dict(shown.times) == written(load)
    assert all(times == [10.0, 12.0] for times in shown.events.values())
    assert len(shown.events) == load.writers * load.runs
    for ids in shown.ids.values():
        assert all(before < after for before, after in itertools.pairwise(ids))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("url")
    for name in ("writers", "runs", "seconds", "dashboards", "processes"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Load, name))
    outcome = run(Load(**vars(parser.parse_args())))
    rate = outcome.samples / outcome.seconds
    print(
        f"{outcome.samples} samples and {outcome.events} events in {outcome.seconds:.1f} s, ",
        end="",
    )
    print(f"{rate:.0f} samples/s; nothing lost, nothing twice, order kept.")
    print(
        f"Calls of a sink: median {outcome.median_ms:.1f} ms, longest {outcome.slowest_ms:.0f} ms."
    )
    print(
        f"Dashboards had everything {outcome.lag_seconds:.1f} s after the last writer's end;",
        end="",
    )
    print(f" {outcome.pages} pages, the slowest in {outcome.slowest_page_ms:.0f} ms.")


if __name__ == "__main__":
    main()
