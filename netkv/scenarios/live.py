"""A live run: processes, sockets and the wall clock."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable

from netkv.lab import state
from netkv.lab.process import NodeProcess
from netkv.lab.rack import LiveRack
from netkv.rack.report import RackEvent, RackSample
from netkv.scenarios.clock import WallClock
from netkv.scenarios.results import Phase
from netkv.scenarios.run import DrivenRun
from netkv.scenarios.run_plan import PlannedRun


class LiveRun(DrivenRun):
    """A live run."""

    def __init__(
        self,
        planned: PlannedRun,
        *,
        on_event: Callable[[RackEvent], None],
        on_sample: Callable[[Phase, RackSample], None],
        on_phase: Callable[[str], None],
    ) -> None:
        super().__init__(
            planned,
            on_event=on_event,
            on_sample=on_sample,
            on_phase=on_phase,
            clock=WallClock(),
        )
        self._lab_name = f"run-{secrets.token_hex(6)}"
        with state.locked():
            self._lab = state.create(
                self._lab_name, self.spec.model_dump(mode="json"), state.identity(os.getpid())
            )
        try:
            self.rack = LiveRack(
                self.spec,
                self._lab.directory,
                on_event=self._on_event,
                on_processes=self._processes,
            )
        except BaseException:
            self._remove()
            raise

    async def close(self) -> None:
        """Stops the rack and removes its directory."""
        try:
            await super().close()
        finally:
            self._remove()

    def _remove(self) -> None:
        with state.locked():
            state.remove(self._lab_name)

    def _processes(self, nodes: dict[str, NodeProcess]) -> None:
        self._lab.nodes = {
            name: node.identity for name, node in nodes.items() if node.identity is not None
        }
        if self._lab.directory.exists():
            self._lab.save()
