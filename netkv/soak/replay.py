"""Replays a case, event by event.

Rules
-----
1. A case is played twice: once to find the key of the violation, once to record the frames about
   that key. Both runs must be the same, frame by frame.
2. Lines are sorted by time: of frames when a link sends them, of table writes when they reach the
   switch, of operations when the client begins and ends them. Frames of the operations that prove
   the violation are marked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from netkv import schemes
from netkv.control import base
from netkv.model.report import RackEvent
from netkv.sim.rack import SimRack
from netkv.soak.case import Case
from netkv.soak.run import Hooks, Outcome, play
from netkv.soak.text import operation_text

FRAMES = 200_000
"""Frames about a key that are kept, at most; older ones are dropped."""
_BEFORE = 0.01
"""Lines are shown from this many seconds before the first operation of the violation on."""


@dataclass
class Replay:
    """The outcome of a replay and its lines."""

    outcome: Outcome
    exact: bool
    """Whether both runs were the same."""
    lines: list[str]
    """In the order of their times."""
    left_out: int
    """Number of lines before the first that is shown."""


def replay(case: Case, *, everything: bool = False, scheme: schemes.Scheme | None = None) -> Replay:
    """Plays a case and lists the events, with the frames about the key of its violation.

    Without a violation, or with one without a key, there are no frames. `everything`: also list
    lines long before the operations that prove the violation.
    """
    first = play(case, scheme=scheme)
    key = first.violation.key if first.violation else None
    watched = _Watched(bytes.fromhex(key) if key else None)
    again = play(case, watched.hooks(), scheme)
    lines = sorted(watched.all_lines(again))
    since = 0 if everything else _first_relevant(again)
    shown = [text for at, _, text in lines if at >= since]
    return Replay(
        outcome=again,
        exact=again.fingerprint == first.fingerprint,
        lines=shown,
        left_out=len(lines) - len(shown),
    )


@dataclass
class _Watched:
    key: bytes | None
    racks: list[SimRack] = field(default_factory=list)
    lines: list[tuple[int, int, str]] = field(default_factory=list)
    """Nanoseconds, line number (to keep the order of equal times), text."""

    def hooks(self) -> Hooks:
        return Hooks(
            on_rack=self._on_rack, on_event=self._on_event, on_fault=self._on_fault,
            on_write=self._on_write,
        )  # fmt: skip

    def all_lines(self, outcome: Outcome) -> list[tuple[int, int, str]]:
        """All events, the frames, and the operations that prove the violation."""
        if self.key is not None:
            proof = _requests(outcome)
            for line in self.racks[0].journal():
                # The first word with a colon is the request, as client:number.
                request = next((word for word in line.split() if ":" in word), "")
                mark = ">" if request in proof else " "
                self._add(round(float(line.split(maxsplit=1)[0]) * 1e6), f"{mark}{line}")
        for violation in outcome.violations[:1]:
            for operation in violation.operations:
                text = operation_text(operation)
                for moment, what in (("start_ns", "begins"), ("end_ns", "ends")):
                    if operation.get(moment) is not None:
                        shown = text.partition(":")[0] if moment == "start_ns" else text
                        self._add_text(operation[moment], f"== {what}: {shown}")
            at = round(violation.at * 1e9)
            self._add_text(at, f"!! {violation.kind}: {violation.text}")
        return self.lines

    def _on_rack(self, rack: SimRack) -> None:
        self.racks.append(rack)
        if self.key is not None:
            rack.watch([self.key], FRAMES)

    def _on_event(self, event: RackEvent) -> None:
        if event.kind in ("control", "ready", "failed", "recovered", "killed"):
            self._add_text(round(event.time * 1e9), f"-- {event.node}: {event.text}")

    def _on_fault(self, now: float, what: str) -> None:
        self._add_text(round(now * 1e9), f"** {what}")

    def _on_write(self, switch: str, write: base.TableWrite, error: str) -> None:
        if self.key is None or isinstance(
            write, base.SetDefault | base.CloneSession | base.MulticastGroup
        ):
            return
        if write.match.get("key") != int.from_bytes(self.key):
            return
        fields = ""
        if not isinstance(write, base.DeleteEntry):
            fields = " ".join(f" {name} {value}" for name, value in write.params.items())
        what = type(write).__name__.removesuffix("Entry").lower()
        refused = f" REFUSED: {error}" if error else ""
        text = f"++ {switch}: {what} entry of {write.table}{fields}{refused}"
        self._add_text(self.racks[0].nanoseconds, text)

    def _add_text(self, nanoseconds: int, text: str) -> None:
        self._add(nanoseconds, f" {nanoseconds / 1e6:>14.6f} ms  {text}")

    def _add(self, nanoseconds: int, text: str) -> None:
        self.lines.append((nanoseconds, len(self.lines), text))


def _requests(outcome: Outcome) -> set[str]:
    """The requests that prove the violation, as the journal calls them: client:number."""
    found = outcome.violation
    return {f"{each['client']}:{each['request']}" for each in found.operations} if found else set()


def _first_relevant(outcome: Outcome) -> int:
    """Time in nanoseconds of the first line to show."""
    violation = outcome.violation
    if violation is None or violation.key is None:
        return 0
    begins = [each["start_ns"] for each in violation.operations if each["start_ns"] is not None]
    first = min(begins, default=round(violation.at * 1e9))
    return max(first - round(_BEFORE * 1e9), 0)


def text(it: Replay) -> Iterator[str]:
    """The lines, with a note of how many were left out."""
    if it.left_out:
        yield f"  ... {it.left_out:,} lines before (--all shows them)"
    yield from it.lines
    if not it.exact:
        yield "The two runs of this replay differ, so the run does not depend on its case alone."
