"""A live run: processes, sockets and the wall clock."""

from __future__ import annotations

import os
import secrets
from collections.abc import Awaitable, Callable

from netkv.live import state
from netkv.live.feed import Feed
from netkv.live.process import NodeProcess
from netkv.live.rack import LiveRack
from netkv.model.report import RackEvent, RackSample
from netkv.processes import identity
from netkv.scenarios.clock import WallClock
from netkv.scenarios.collect import Collector
from netkv.scenarios.in_order import InOrder
from netkv.scenarios.injection import Injector
from netkv.scenarios.requests import Requests
from netkv.scenarios.results import Phase
from netkv.scenarios.run import DrivenRun, OnSample
from netkv.scenarios.run_plan import PlannedRun

_SHORT_S = 0.05
"""Seconds between two looks at whether all actions are carried out."""


class LiveRun(DrivenRun):
    """A live run."""

    def __init__(
        self,
        planned: PlannedRun,
        *,
        on_event: Callable[[RackEvent], None],
        on_sample: OnSample,
        on_phase: Callable[[str], None],
    ) -> None:
        super().__init__(
            planned,
            on_event=on_event,
            on_sample=self._sampled,
            on_phase=on_phase,
            clock=WallClock(),
        )
        self._report_sample = on_sample
        self._actions = InOrder()
        self._lab_name = f"run-{secrets.token_hex(6)}"
        with state.locked():
            self._lab = state.create(
                self._lab_name,
                self.spec.model_dump(mode="json"),
                identity(os.getpid()),
                kind="run",
            )
        try:
            self.rack = rack = LiveRack(
                self.spec,
                self._lab.directory,
                on_event=self._happened,
                on_processes=self._processes,
            )
        except BaseException:
            self._remove()
            raise
        self._feed = Feed(rack)
        self._injector = Injector(rack, self._changes)
        self._requests = Requests(rack, self._feed, self._injector)

    async def run(self, collector: Collector) -> None:
        """As `DrivenRun.run`; answers requests about the rack meanwhile."""
        self._lab.run = collector.run_id
        self._lab.save()
        async with self._requests.served(self._lab.directory):
            await super().run(collector)

    async def close(self) -> None:
        """Stops the rack and removes its directory."""
        self._injector.close()
        try:
            await self._actions.cancel()
            await super().close()
        finally:
            self._remove()

    async def _perform(self, action: Callable[[], Awaitable[None]]) -> None:
        self._actions.add(action)

    async def _performed(self) -> None:
        while not self._actions.idle:
            await self._sleep_until(self._clock.now() + _SHORT_S)
        self._actions.check()

    def _check(self) -> None:
        super()._check()
        self._actions.check()

    def _sampled(self, phase: Phase, sample: RackSample, time: float | None) -> None:
        self._report_sample(phase, sample, time)
        self._feed.add(sample)

    def _happened(self, event: RackEvent) -> None:
        if event.kind == "ready":
            self._lab.state = "ready"
            self._lab.save()
        elif event.kind in state.CHANGES and self._lab.settle(self.rack.nodes):
            self._lab.save()
        self._on_event(event)

    def _remove(self) -> None:
        with state.locked():
            state.remove(self._lab_name)

    def _processes(self, nodes: dict[str, NodeProcess]) -> None:
        self._lab.take(nodes)
        if self._lab.directory.exists():
            self._lab.save()
