"""What the traps of FarReach's control plane have in common (`test_farreach_*_traps.py`)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from netkv.control.base import MILLISECOND, SECOND
from netkv.control.messages import Op
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.entries import Candidate
from netkv.schemes.farreach.parameters import FarReachParameters
from tests.schemes import traps
from tests.schemes.farreach.farreach_load import KEYS
from tests.schemes.farreach.farreach_rack import Rack

OPTIONS = FarReachParameters(
    capacity=4,
    sample_rate=1.0,
    hot_threshold=3,
    epoch=100 * MILLISECOND,
    snapshot_period=0,
    collect_patience=200 * MILLISECOND,
    drawn=4,
)
KEY = KEYS[0]
LOST = "an acknowledged write is lost"

Script = Callable[[type[FarReach]], str]
"""Plays a script; returns the harm to a user, "" for none."""


def rack(control: type[FarReach], **options: Any) -> Rack:
    it = Rack(replace(OPTIONS, **options), control_type=control)
    for key in KEYS:
        it.store(key, b"first " + key[:4])
    return it


def read(it: Rack, client: int, key: bytes = KEY) -> bytes | str | None:
    """The value, None if there is none, or "no answer"."""
    reply = it.do(client, Op.GET, key).reply
    if reply is None:
        return "no answer"
    return reply.value if reply.length else None


def evict(it: Rack, key: bytes, successor: Candidate | None = None) -> None:
    entry = it.control._index.of_key(key)
    assert entry is not None
    it.control._eviction.begin(entry, successor)


def crash(it: Rack, *, controller: bool = False) -> None:
    if controller:
        it.kill_controller()
        it.replace_controller()
    else:
        it.crash_switch()
    it.run(SECOND)


def check(script: Script, *harms: tuple[type[FarReach], str]) -> None:
    """The original control plane does no harm; each mutant does the harm named with it."""
    traps.check(script, FarReach, *harms)
