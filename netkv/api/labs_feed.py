"""What is new about all labs, for the event stream and for `/metrics`.

Rules
-----
1. Supervisors are asked in threads of their own, so that neither the event loop nor other requests
   wait for them. A lab whose last request is not answered yet is not asked again, and nobody waits
   for a lab that has not answered its last request. So one dead supervisor costs one thread for
   `_TIMEOUT_S` at a time, and delays the others once.
2. Answers are kept for all readers: each lab is asked at most once in `_FRESH_S` seconds, however
   many readers there are.
3. A reader that is far behind gets the newest `KEPT` samples of a lab. Numbers show the gap.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from netkv.api import labs
from netkv.api.models.labs import FaultInForce, LabSample, LabUpdate
from netkv.errors import NetkvError
from netkv.labs import daemon
from netkv.live import state
from netkv.live.feed import MAX_SAMPLES

KEPT = 120
"""Samples of a lab that are kept here, two minutes."""
_FRESH_S = 0.5
_RETRY_S = 2.0
_TIMEOUT_S = 2.0
_WAIT_S = 1.0
"""For how long a reader waits for the answers; late ones come with its next call."""
_THREADS = 8

Cursor = tuple[float, int]
"""When a lab was created, and the number of the last sample that a reader has of it."""


class _Known:
    """What is known about a lab."""

    def __init__(self, created: float) -> None:
        self.created = created
        self.samples: deque[LabSample] = deque(maxlen=KEPT)
        self.status: dict[str, Any] = {}
        self.totals: dict[str, Any] = {}
        """`netkv.live.totals`."""
        self.asking: asyncio.Future[None] | None = None
        self.asked_at = 0.0
        self.failed = False
        """Whether the last request was not answered."""


class LabsFeed:
    """The labs of this machine. Use it from one event loop."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="labs")

    async def updates(self, cursors: Mapping[str, Cursor] | None = None) -> list[LabUpdate]:
        """The state of every lab, with the samples that are newer than those of `cursors`.

        A lab that is missing in `cursors`, or was created anew, has all samples that are kept.
        `cursors_of` returns the cursors for the next call.
        """
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, labs.every)
        for name in self._known.keys() - {lab.name for lab in found}:
            del self._known[name]
        waits = [wait for lab in found if (wait := self._ask(lab)) is not None]
        if waits:
            await asyncio.wait(waits, timeout=_WAIT_S)
        return [self._update(lab, (cursors or {}).get(lab.name)) for lab in found]

    def totals(self, name: str) -> dict[str, Any]:
        """Counts of a lab since it came up (`netkv.live.totals`), as of the last `updates`."""
        known = self._known.get(name)
        return {} if known is None else known.totals

    def close(self) -> None:
        """Waits for no thread."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ask(self, lab: state.Lab) -> asyncio.Future[None] | None:
        """Asks a lab, unless its answer is fresh; returns what to wait for."""
        known = self._known.get(lab.name)
        if known is None or known.created != lab.created:
            known = self._known[lab.name] = _Known(lab.created)
        if known.asking is not None and not known.asking.done():
            return None if known.failed else known.asking
        if not lab.answers:
            known.status = {}
            return None
        if time.monotonic() < known.asked_at + (_RETRY_S if known.failed else _FRESH_S):
            return None
        known.asked_at = time.monotonic()
        loop = asyncio.get_running_loop()
        known.asking = loop.run_in_executor(self._threads, _ask, lab.name, known)
        return None if known.failed else known.asking

    def _update(self, lab: state.Lab, cursor: Cursor | None) -> LabUpdate:
        known = self._known[lab.name]
        after = cursor[1] if cursor is not None and cursor[0] == lab.created else 0
        status = known.status
        running = {name: process.alive for name, process in lab.nodes.items()}
        if status:
            running["controller"] = bool(status["controller_running"])
        about = labs.summary(lab)
        return LabUpdate(
            **{name: about[name] for name in LabUpdate.model_fields if name in about},
            answers=bool(status),
            running=running,
            faults=[FaultInForce(**each) for each in status.get("faults", [])],
            samples=[each for each in list(known.samples) if each.number > after],
        )


def after(update: LabUpdate, cursor: Cursor | None) -> LabUpdate:
    """The update, with only those samples that a reader with this cursor has not got."""
    if cursor is None or cursor[0] != update.created:
        return update
    newer = [each for each in update.samples if each.number > cursor[1]]
    return update.model_copy(update={"samples": newer})


def cursors_of(
    updates: list[LabUpdate], before: Mapping[str, Cursor] | None = None
) -> dict[str, Cursor]:
    """The cursors after a reader has got `updates`; `before`: those of that call."""
    found: dict[str, Cursor] = {}
    for update in updates:
        earlier = (before or {}).get(update.name, (update.created, 0))
        last = earlier[1] if earlier[0] == update.created else 0
        newest = update.samples[-1].number if update.samples else last
        found[update.name] = (update.created, newest)
    return found


def _ask(name: str, known: _Known) -> None:
    """Reads state and samples of a lab, in a thread."""
    try:
        last = known.samples[-1].number if known.samples else -MAX_SAMPLES
        status = daemon.request(name, {"do": "status", "events": False}, _TIMEOUT_S)
        answer = daemon.request(name, {"do": "samples", "after": last}, _TIMEOUT_S)
        samples = [LabSample.model_validate(each) for each in answer["samples"]]
        totals = answer["totals"]
    except (NetkvError, ValueError, KeyError):
        # It does not answer, or is of another version of netkv.
        known.status, known.failed = {}, True
        return
    known.samples.extend(samples)
    known.totals = totals
    known.status, known.failed = status, False
