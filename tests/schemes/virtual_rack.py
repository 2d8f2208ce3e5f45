"""The base of the test racks of control planes.

It has virtual time, impaired networks, and a controller that may crash after any event or action.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random

from netkv.control.base import MILLISECOND, SECOND, Action, ControlPlane, Event, Nanoseconds, Timer


@dataclass
class Network:
    """Impairments of a network; `loss` and `duplication` are probabilities."""

    loss: float = 0.0
    duplication: float = 0.0
    max_delay: Nanoseconds = MILLISECOND


class VirtualRack(ABC):
    """Runs a control plane in virtual time, from one seed.

    `steps_left`: events and actions before the controller crashes; None: it does not crash.
    """

    control: ControlPlane
    steps_left: int | None

    def begin(self, seed: int) -> None:
        """Set the time to 0."""
        self.now: Nanoseconds = 0
        self.random = Random(seed)
        self.controller_down = False
        self.steps = 0
        self.switch_up = True
        self._queue: list[tuple[Nanoseconds, int, Callable[[], None]]] = []
        self._order = 0

    @abstractmethod
    def carry_out(self, action: Action) -> None:
        """Carry out an action of the control plane."""

    def kill_controller(self) -> None:
        """Kill the controller; it loses its state."""
        self.controller_down = True

    def handle(self, event: Event) -> None:
        """Pass an event to the control plane and carry out its actions."""
        if self._crashes():
            return
        for action in self.control.handle(self.now, event):
            if self._crashes():
                return
            self.carry_out(action)

    def _crashes(self) -> bool:
        self.steps += 1
        if self.steps_left is not None:
            if self.steps_left == 0:
                self.kill_controller()
            self.steps_left -= 1
        return self.controller_down

    def after(self, delay: Nanoseconds, call: Callable[[], None]) -> None:
        """Call a function after a delay."""
        self._order += 1
        heappush(self._queue, (self.now + delay, self._order, call))

    def travel(
        self,
        network: Network,
        arrive: Callable[[], None],
        is_lost: Callable[[], bool] = lambda: False,
    ) -> None:
        """Send a frame over a network. `is_lost`: decides about losses besides random ones."""
        copies = 2 if self.random.random() < network.duplication else 1
        for _ in range(copies):
            if self.random.random() >= network.loss and not is_lost():
                self.after(self.random.randrange(1, network.max_delay), arrive)

    def deadline(self) -> Nanoseconds | None:
        """When the control plane needs a timer."""
        return None if self.controller_down or not self.switch_up else self.control.deadline()

    def run(self, duration: Nanoseconds) -> None:
        """Advance the time."""
        end = self.now + duration
        while True:
            timer = self.deadline()
            due = self._queue[0][0] if self._queue else end + 1
            if timer is not None and timer < due:
                due = timer
            if due > end:
                break
            self.now = max(self.now, due)
            if self._queue and self._queue[0][0] <= self.now:
                heappop(self._queue)[2]()
            else:
                self.handle(Timer())
                later = self.deadline()
                assert later is None or later > self.now, "the deadline does not advance"
        self.now = end

    def run_until(self, condition: Callable[[], bool], limit: Nanoseconds = 60 * SECOND) -> None:
        """Advance the time until `condition` holds; fails after `limit`."""
        end = self.now + limit
        while not condition():
            assert self.now < end, f"not within {limit} ns: {self.control.statistics()}"
            self.run(MILLISECOND)
