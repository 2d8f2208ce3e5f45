"""Plays one case, from the start of the rack to the verification.

Rules
-----
1. The load runs with the case's faults. Then all faults end, pending requests end by their
   deadline, every written key is read back, and servers and controllers finish all operations. If
   one of these takes too long, the violation is `stuck`.
2. The scheme's own check (`netkv.schemes.parts.Soak`) comes last.
3. The first violation ends the run. An exception or a panic is a violation, too.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import math
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netkv import schemes
from netkv.control import base
from netkv.errors import NetkvError, UsageError, suggest
from netkv.events.case import AnyEvent, Fault
from netkv.model.report import RackEvent
from netkv.schemes import parts
from netkv.schemes.programs import Programs
from netkv.schemes.scheme import Broken
from netkv.schemes.spec import LabSpec
from netkv.sim.rack import SECOND, SimRack
from netkv.soak.case import Case
from netkv.soak.verdict import CRASH, LOST, RULE, STUCK, Judge, Violation

MAX_WAIT = 30.0
"""Virtual seconds after the end of all faults within which pending operations must end."""
_STEP = 0.05
"""Virtual seconds between two checks for violations."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case."""

    seed: int
    operations: int
    """Completed operations."""
    unchecked: int
    """Reads that the checker could not judge."""
    faults: int
    """Faults that have begun."""
    violations: tuple[Violation, ...]
    load_began: float
    """Virtual time of the rack in seconds; times of faults count from here."""
    fingerprint: str
    """A hash that is equal for equal runs."""
    processor_seconds: float = field(default=0.0, compare=False)
    """Processor time that it took to play."""

    @property
    def violation(self) -> Violation | None:
        """The first one."""
        return self.violations[0] if self.violations else None


@dataclass(frozen=True)
class Hooks:
    """Callbacks while a case is played."""

    on_rack: Callable[[SimRack], object] = lambda _: None
    """Called with the rack before its start."""
    on_event: Callable[[RackEvent], None] = lambda _: None
    on_fault: Callable[[float, str], object] = lambda *_: None
    """Called with the virtual time in seconds and a description."""
    on_write: Callable[[str, base.TableWrite, str], None] | None = None
    """`on_write` of `SimRack`."""


def play(case: Case, hooks: Hooks | None = None, scheme: schemes.Scheme | None = None) -> Outcome:
    """Plays a case. `scheme` replaces the one that it names.

    Raises `NetkvError` if it cannot be played: no such scheme or mutant, a program with errors.
    """
    scheme = scheme or schemes.of(case.rack)
    broken = nullcontext if case.mutant is None else mutant(scheme, case.mutant)
    with broken(scheme) as scheme:
        return asyncio.run(_Run(case, hooks or Hooks(), scheme).play())


def mutant(scheme: schemes.Scheme, name: str) -> Broken:
    """The mutant of a scheme; raises `UsageError` if it has none of this name."""
    known = parts.mutants(scheme)
    if name not in known:
        raise UsageError(
            f"The scheme '{scheme.name}' has no mutant '{name}'."
            + (f"\n  {suggest(name, known, label='Mutants')}" if known else "")
        )
    return known[name]


class _StuckError(Exception):
    """An operation has not ended in time; the text names it."""


class _Run:
    def __init__(self, case: Case, hooks: Hooks, scheme: schemes.Scheme) -> None:
        self._case = case
        self._hooks = hooks
        if case.program is not None:
            scheme = scheme.with_program(case.program)
        self._programs = _compiled(scheme, case.rack.lab)
        self._rack = SimRack(
            case.rack,
            profile=case.profile,
            scheme=scheme,
            on_event=hooks.on_event,
            on_write=hooks.on_write,
        )
        self._max_staleness = scheme.max_staleness(case.rack.lab)
        self._judge = Judge(self._max_staleness)
        self._started = time.process_time()
        self._faults = 0
        self._began = 0.0
        self._open: list[Fault] = []
        """Faults that have begun and not ended."""
        self._left_out: list[Fault] = []
        """Faults that the scheme did not tolerate when they were to begin."""
        self._tolerates = parts.soak(scheme).tolerates
        self._sample: dict[str, Any] = {}
        """The newest sample of the load generator."""
        self._violations: list[Violation] = []

    async def play(self) -> Outcome:
        try:
            await self._play()
        except _StuckError as stuck:
            self._found(STUCK, str(stuck))
        except NetkvError as error:
            self._found(STUCK if "not ready" in str(error) else CRASH, str(error))
        except (KeyboardInterrupt, asyncio.CancelledError, SystemExit):
            raise
        except BaseException as error:  # a panic of the engine is no Exception
            self._found(CRASH, _sentence(error))
        return Outcome(
            seed=self._case.seed,
            operations=self._judge.completed,
            unchecked=self._judge.unchecked,
            faults=self._faults,
            violations=tuple(self._violations),
            load_began=self._began,
            fingerprint=self._fingerprint(),
            processor_seconds=time.process_time() - self._started,
        )

    async def _play(self) -> None:
        rack, case = self._rack, self._case
        rack.take_programs(self._programs)
        self._hooks.on_rack(rack)
        rack.bring_up()
        rack.advance(rack.nanoseconds + round(case.idle * SECOND))
        self._began = rack.now
        rack.command({"do": "phase", "name": "measure"})
        if await self._load():
            await self._heal()
            if self._max_staleness is not None:
                self._pass(self._max_staleness)
            self._verify()
            self._rest()
            self._deregister_clients()
            self._check()

    async def _load(self) -> bool:
        """Runs the load with its faults; returns False if a violation ended it early."""
        for event, fault in self._case.schedule:
            if event.at >= self._case.duration:
                break
            if not self._load_until(event.at):
                return False
            if fault not in self._left_out:
                await self._carry_out(event, fault)
        return self._load_until(self._case.duration)

    async def _carry_out(self, event: AnyEvent, fault: Fault) -> None:
        if not self._is_tolerated(event.action.goes_down):
            self._left_out.append(fault)
            return
        self._hooks.on_fault(self._rack.now, event.describe())
        await event.action.carry_out(self._rack)
        if event is not fault.begin:
            self._open.remove(fault)
            return
        self._faults += 1
        if fault.end is not None:
            self._open.append(fault)

    def _is_tolerated(self, down: str | None) -> bool:
        """Whether the scheme tolerates that this node goes down now."""
        if down is None or down not in self._rack.switches or self._tolerates is None:
            return True
        return self._tolerates(self._rack, down)

    def _load_until(self, at: float) -> bool:
        """Continues the load until time `at`; returns False if there is a violation before."""
        while not self._violations:
            rest = at - (self._rack.now - self._began)
            if rest <= 0:
                return True
            self._pass(min(rest, _STEP))
        return False

    async def _heal(self) -> None:
        """Ends all open faults, and waits until all switches are set up."""
        for fault in list(self._open):
            assert fault.end is not None, "only faults with an end are open"
            await self._carry_out(fault.end, fault)
        self._rack.command({"do": "phase", "name": "drain"})
        most = self._case.rack.deadline + 1
        self._wait(
            most, lambda: self._sample["phase"] == "idle", "Requests outlived their deadline"
        )
        self._wait(MAX_WAIT, lambda: self._rack.ready, "Switches were not set up")

    def _verify(self) -> None:
        """Reads back every written key."""
        if self._violations:
            return
        self._rack.command({"do": "phase", "name": "verify"})
        self._pass(0)
        self._wait(
            MAX_WAIT + self._case.rack.deadline,
            lambda: self._sample["phase"] == "idle",
            "The verification had not ended",
        )
        if self._violations:
            return
        lost = int(self._sample["acked_writes_lost"])
        if lost:
            self._found(LOST, f"{lost} keys have lost acknowledged writes.")
        unread = int(self._sample["unread"])
        if unread:
            raise _StuckError(f"{unread} keys could not be read back.")

    def _rest(self) -> None:
        """Waits until servers, coordinator and controllers have no operation under way."""
        self._wait(
            MAX_WAIT,
            lambda: not any(server["busy_keys"] for server in self._rack.statistics["servers"]),
            "Servers still had keys with pending operations",
        )
        self._wait(
            MAX_WAIT,
            lambda: not (self._rack.statistics["coordinator"] or {}).get("under_way", 0),
            "The coordinator still had pending requests",
        )
        self._wait(
            MAX_WAIT,
            lambda: (
                not any(
                    counts.get("in_flight", 0) + counts.get("waiting", 0)
                    for counts in self._rack.control_statistics()
                )
            ),
            "Controllers still had keys with pending operations",
        )

    def _deregister_clients(self) -> None:
        """Lets clients deregister with the controller, in schemes where they register."""
        if self._rack.scheme.traits.client_keeps:
            self._rack.command({"do": "phase", "name": "end"})
            self._pass(0)
            idle = lambda: self._sample["phase"] == "idle"  # noqa: E731
            self._wait(MAX_WAIT, idle, "Clients had not deregistered")

    def _check(self) -> None:
        """Runs the check of the scheme, if it has one."""
        check = parts.soak(self._rack.scheme).check
        if check is None or self._violations:
            return
        text = check(self._rack, self._read_back)
        if text is not None and not self._violations:
            self._found(RULE, text)

    def _read_back(self) -> int:
        """Reads back every written key; returns the number of reads that were sent again."""
        before = self._judge.repeated
        self._verify()
        return self._judge.repeated - before

    def _wait(self, most: float, over: Callable[[], bool], complaint: str) -> None:
        """Advances the rack until `over()`; raises `_StuckError` after `most` seconds."""
        end = self._rack.now + most
        while not self._violations and not over():
            if self._rack.now >= end:
                raise _StuckError(f"{complaint} {most:g} s after all faults had ended.")
            self._pass(_STEP)

    def _pass(self, seconds: float) -> None:
        """Advances the rack, then checks for violations."""
        rack = self._rack
        # At least a nanosecond: a caller that waits for a fraction of one must make progress.
        rack.advance(rack.nanoseconds + max(math.ceil(seconds * SECOND), 1))
        self._sample = rack.take_sample().client_statistics
        self._violations += self._judge.take(rack.now, self._sample, self._most_corrupted)

    def _most_corrupted(self) -> int:
        """The most frames with flipped bits that can have arrived so far. A switch forwards a frame
        whose transport checksum is wrong, and a later link may copy it."""
        counts = self._rack.statistics
        corrupted = int(counts["corrupted"])
        return corrupted + int(counts["duplicated"]) if corrupted else 0

    def _found(self, kind: str, text: str) -> None:
        self._violations.append(Violation(kind=kind, text=text, at=self._rack.now))

    def _fingerprint(self) -> str:
        seen = (
            self._rack.statistics if self._began else {},
            [violation.model_dump() for violation in self._violations],
            self._judge.completed,
            self._rack.now,
        )
        return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:16]


def _compiled(scheme: schemes.Scheme, lab: LabSpec) -> Programs:
    defines = tuple(scheme.programs.defines(lab).items())
    others = {tier: _bundle(path, defines) for tier, path in scheme.other_paths.items()}
    return Programs(_bundle(scheme.program_path, defines), others)


@functools.cache
def _bundle(program: Path, defines: tuple[tuple[str, str], ...]) -> bytes:
    return schemes.compile_program(program, dict(defines))


def _sentence(error: BaseException) -> str:
    """The text of an exception, with file and line."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text} ({Path(where.filename).name}:{where.lineno})"
