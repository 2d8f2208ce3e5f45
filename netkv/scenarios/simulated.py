"""A run in the simulator."""

from __future__ import annotations

from collections.abc import Callable

from netkv.model.report import RackEvent
from netkv.scenarios.run import DrivenRun, OnSample
from netkv.scenarios.run_plan import PlannedRun
from netkv.sim.rack import SimRack, VirtualClock


class SimRun(DrivenRun):
    """A run in virtual time."""

    rack: SimRack

    def __init__(
        self,
        planned: PlannedRun,
        *,
        on_event: Callable[[RackEvent], None],
        on_sample: OnSample,
        on_phase: Callable[[str], None],
    ) -> None:
        spec = planned.scenario.rack(planned.scheme, planned.seed)
        self.rack = SimRack(spec, on_event=lambda event: self._on_event(event))
        super().__init__(
            planned,
            on_event=on_event,
            on_sample=on_sample,
            on_phase=on_phase,
            clock=VirtualClock(self.rack),
        )

    def use_threads(self, threads: int) -> None:
        """See `DrivenRun`."""
        super().use_threads(threads)
        self.rack.threads = threads
