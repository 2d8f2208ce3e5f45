"""What is out of order in a rack at a point of a timeline."""

from __future__ import annotations

from collections.abc import Collection

from netkv.errors import FieldError
from netkv.model import layout
from netkv.model.hardware import GenericLab
from netkv.model.nodes import Node, Servers
from netkv.model.spec import WorkloadSpec


class RackState:
    """The state of a rack; actions check and change it in the order of their times.

    `optional`: kinds of nodes of the rack that not all racks have.
    """

    def __init__(
        self, lab: GenericLab, workload: WorkloadSpec, optional: Collection[type[Node]] = ()
    ) -> None:
        self.lab = lab
        self.workload = workload
        self.nodes = layout.nodes_of(lab, optional)
        self.servers = [name for name, kind in self.nodes.items() if issubclass(kind, Servers)]
        self.index = 0
        """Of the event, in the list of events."""
        self.down: set[str] = set()
        self.partitioned = False
        """Whether the control channel is cut."""
        self._at_end: dict[tuple[str, ...], FieldError] = {}

    def must_end(self, what: tuple[str, ...], error: FieldError) -> None:
        """The error is raised if nothing ends `what` later. Its path begins at the event."""
        self._at_end[what] = error.below(self.index)

    def ended(self, what: tuple[str, ...]) -> None:
        """Nothing is to be ended any more."""
        self._at_end.pop(what, None)

    def end(self) -> None:
        """Checks the state at the end of the run; raises `FieldError` with a path that begins at
        the list of events."""
        for _, error in sorted(self._at_end.items()):
            raise error
