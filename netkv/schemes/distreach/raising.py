"""The next incarnation of a chain that serves (docs/schemes/distreach.md, "Incarnations")."""

# Callbacks have the parameters of their type, whether they use them or not.

from collections.abc import Iterator, Sequence
from functools import partial

from netkv.control.base import Action, Nanoseconds
from netkv.schemes.distreach.chain_switch import ChainSwitch
from netkv.schemes.distreach.incarnations import Incarnations
from netkv.schemes.distreach.recovery import Recovery


class Raising:
    """Raises the incarnation of a chain.

    Rules
    -----
    1. The incarnation is raised after a fixed time, so that two sequence numbers of one incarnation
       are always less than half of their range apart. The numbers continue.
    2. The tail gets it first. So what a switch stamps is never of an incarnation that the next
       switch does not know.
    """

    def __init__(
        self,
        switches: Sequence[ChainSwitch],
        recovery: Recovery,
        incarnations: Incarnations,
        length: Nanoseconds,
    ) -> None:
        """`length`: how long the chain keeps an incarnation."""
        self._switches = switches
        self._recovery = recovery
        self._incarnations = incarnations
        self._length = length
        self._ends: Nanoseconds | None = None
        self._attempt = 0

    def begin(self, now: Nanoseconds) -> None:
        """The chain has got a new incarnation."""
        self._ends = now + self._length

    def pause(self) -> None:
        """A recovery begins."""
        self._ends = None
        self._attempt += 1

    def deadline(self) -> Nanoseconds | None:
        """When to raise the incarnation."""
        return self._ends

    def pump(self, now: Nanoseconds) -> Iterator[Action]:
        """Raise the incarnation, if that is due."""
        if self._ends is None or now < self._ends:
            return
        self._ends = None
        attempt = self._attempt

        def taken(now: Nanoseconds, incarnation: int) -> Iterator[Action]:
            members = self._switches if self._recovery.whole else self._switches[-1:]
            yield from self._set(attempt, len(members) - 1, incarnation, now)

        self._incarnations.take(taken)
        yield from ()

    def _set(
        self, attempt: int, position: int, incarnation: int, now: Nanoseconds
    ) -> Iterator[Action]:
        """Set it in the member of the chain with this position, then in those before it."""
        if attempt != self._attempt:
            return
        if position < 0:
            self._recovery.incarnation = incarnation
            self.begin(now)
            return
        whole = self._recovery.whole
        switch = self._switches[position] if whole else self._switches[-1]
        yield from switch.set_incarnation(
            incarnation,
            partial(self._set, attempt, position - 1, incarnation),
            position=position,
            loss=self._recovery.loss,
            previous=self._recovery.incarnation,
        )
