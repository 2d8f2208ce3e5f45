"""Compares executors on random packets (`_engine.Fuzzer`) on many machines: each unit has some
seeds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from netkv.executors.executor import Executor, Unit

if TYPE_CHECKING:
    from netkv._engine import FuzzProgress

_SEEDS = 4
"""Seeds of a unit: of all programs that ship, these take some seconds."""
_AHEAD = 2
"""Units for each that is executed, so that no worker waits."""
_LOOK_S = 0.02

Subject: TypeAlias = tuple[str, bytes, str | None, str]
"""Name, bundle, source that reports may reduce, text of packets: as `_engine.Fuzzer` has them."""


@dataclass(frozen=True)
class Batch:
    """What a unit compares."""

    programs: Sequence[Subject]
    generated: bool
    packets: int
    seed: int = 0
    seeds: int = _SEEDS

    @property
    def cases(self) -> int:
        """Number of its cases."""
        return self.seeds * (len(self.programs) + self.generated)


def compare(batch: Batch, _: Unit) -> FuzzProgress:
    """Executes a unit."""
    from netkv import _engine

    fuzzer = _engine.Fuzzer(
        batch.programs, batch.generated, batch.seed, batch.seeds, None, batch.packets, 1
    )
    fuzzer.start()
    while fuzzer.progress()["running"]:
        time.sleep(_LOOK_S)
    fuzzer.stop()
    return fuzzer.progress()


class SpreadFuzzer:
    """As `_engine.Fuzzer`, on an executor. `progress` also gives it more to do."""

    def __init__(
        self,
        executor: Executor,
        batch: Batch,
        seed: int,
        seeds: int | None,
        seconds: float | None,
    ) -> None:
        """`batch` without its seeds. Without `seeds` it ends after `seconds`; the first finding
        ends it as well."""
        self._executor = executor
        self._batch = batch
        self._next = seed
        self._end = None if seeds is None else seed + seeds
        self._seconds = seconds
        self._begun = 0.0
        self._under_way: set[Future[FuzzProgress]] = set()
        of = None if seeds is None else replace(batch, seeds=seeds).cases
        self._sum: FuzzProgress = {
            "running": True,
            "cases": 0,
            "of": of,
            "generated_programs": 0,
            "packets": 0,
            "frames_out": 0,
            "memory_bytes": {"start": None, "now": None},
            "findings": [],
        }

    def start(self) -> None:
        """Begins."""
        self._begun = time.monotonic()
        self._submit()

    def progress(self) -> FuzzProgress:
        """How far it is; raises the error of a unit."""
        for future in [it for it in self._under_way if it.done()]:
            self._under_way.remove(future)
            self._add(future.result())
        self._submit()
        self._sum["running"] = bool(self._under_way)
        return self._sum

    def stop(self) -> None:
        """Ends; units under way are discarded."""
        for future in self._under_way:
            self._executor.discard(future)
        self._under_way.clear()
        self._sum["running"] = False

    def _submit(self) -> None:
        while not self._over() and len(self._under_way) < _AHEAD * self._executor.width:
            seeds = self._batch.seeds
            if self._end is not None:
                seeds = min(seeds, self._end - self._next)
            batch = replace(self._batch, seed=self._next, seeds=seeds)
            self._next += seeds
            self._under_way.add(self._executor.submit(compare, batch))

    def _over(self) -> bool:
        late = self._seconds is not None and time.monotonic() - self._begun >= self._seconds
        return bool(self._sum["findings"]) or self._next == self._end or late

    def _add(self, done: FuzzProgress) -> None:
        self._sum["cases"] += done["cases"]
        self._sum["generated_programs"] += done["generated_programs"]
        self._sum["packets"] += done["packets"]
        self._sum["frames_out"] += done["frames_out"]
        self._sum["findings"] += done["findings"]
