"""Samples of a live rack for any number of readers.

Rules
-----
1. One task samples the rack, once a second, because taking a sample begins a new interval of the
   load generator's counters. Readers get copies, so none changes what another one reads.
2. It samples only while somebody has asked within the last `WANTED_S` seconds, so that an unused
   lab costs nothing. The first sample after a pause is dropped, because its interval is the whole
   pause; `totals` have its counts.
3. Samples have increasing numbers from 1. The newest `KEPT` are kept.
4. The rack of a run is sampled by the run; its feed gets these samples (`add`).
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import deque
from typing import TYPE_CHECKING, Any

from netkv.live import diagram
from netkv.live.poll import ANSWER_S
from netkv.live.rates import Rates
from netkv.live.totals import Totals
from netkv.model.report import RackSample

if TYPE_CHECKING:
    from netkv.live.rack import LiveRack

INTERVAL_S = 1.0
WANTED_S = 90.0
"""Longer than the usual intervals of monitoring systems."""
KEPT = 600
MAX_SAMPLES = 100
"""Samples in one answer."""


class Feed:
    """The newest samples of one rack, as JSON objects."""

    def __init__(self, rack: LiveRack) -> None:
        self._rack = rack
        self._samples: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._number = 0
        self._rates = Rates(diagram.of_rack(rack.spec).links)
        self._totals = Totals()
        self._asked = asyncio.Event()
        self._asked_at = 0.0

    def after(self, number: int) -> list[dict[str, Any]]:
        """The oldest kept samples with a higher number, at most `MAX_SAMPLES`; -N: the newest N.

        Asking keeps the feed going.
        """
        self._asked_at = time.monotonic()
        self._asked.set()
        if number < 0:
            number = max(self._number + max(number, -MAX_SAMPLES), 0)
        # Numbers have no gaps.
        skipped = max(len(self._samples) - (self._number - number), 0)
        return list(self._samples)[skipped : skipped + MAX_SAMPLES]

    @property
    def newest(self) -> dict[str, Any] | None:
        """The newest sample; None before the first."""
        return self._samples[-1] if self._samples else None

    @property
    def totals(self) -> dict[str, Any]:
        """`Totals.to_json` at the newest sample."""
        return self._totals.to_json()

    def add(self, sample: RackSample) -> None:
        """Appends the sample that was just taken of the rack."""
        self._totals.add(self._rack, sample)
        found = None if sample.late else self._rates.take(self._rack, sample)
        if found is not None:
            self._number += 1
            self._samples.append({"number": self._number, **found})

    async def run(self) -> None:
        """Samples the rack while somebody asks. An error is logged and ends no lab."""
        while True:
            self._asked.clear()
            await self._asked.wait()
            try:
                await self._sample()
            except Exception:
                traceback.print_exc()
                await asyncio.sleep(INTERVAL_S)

    async def _sample(self) -> None:
        """Samples the rack until nobody has asked for `WANTED_S` seconds.

        The times are a second apart, whatever nodes do. Without an answer of the load generator
        there is no sample at that time; the next one is longer.
        """
        for sample in await self._rack.samples(ANSWER_S):
            self._totals.add(self._rack, sample)
        self._rates.begin(self._rack)
        due = time.monotonic()
        while time.monotonic() < self._asked_at + WANTED_S:
            missed = max(time.monotonic() - due, 0.0) // INTERVAL_S
            due += (missed + 1) * INTERVAL_S
            await asyncio.sleep(max(due - time.monotonic(), 0.0))
            for sample in await self._rack.samples(ANSWER_S):
                self.add(sample)
