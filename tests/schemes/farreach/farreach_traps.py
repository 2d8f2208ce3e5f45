"""Helpers of the traps of FarReach's control plane (`test_farreach_*_traps.py`)."""

from collections.abc import Callable
from typing import Any

from netkv.control.base import MILLISECOND, SECOND
from netkv.kits.write_back.entries import Candidate
from netkv.model.messages import Op
from netkv.schemes.farreach.control_plane import FarReach
from tests.schemes import traps
from tests.schemes.farreach.farreach_load import KEYS, stocked_rack
from tests.schemes.farreach.farreach_rack import DEFAULTS, Rack

CONFIGURATION = DEFAULTS.changed(
    cache_entries=4,
    sample_rate=1.0,
    hot_threshold=3,
    epoch=0.1,
    snapshot_period=0.0,
    collect_patience=200 * MILLISECOND,
    drawn=4,
)
KEY = KEYS[0]
LOST = "an acknowledged write is lost"

Script = Callable[[type[FarReach]], str]
"""Runs a scenario; returns the harm to a user, "" for none."""


def make_rack(control: type[FarReach], **options: Any) -> Rack:
    return stocked_rack(CONFIGURATION, control=control, **options)


def read(rack: Rack, client: int, key: bytes = KEY) -> bytes | str | None:
    """The value, None if there is none, or "no answer"."""
    reply = rack.run_operation(client, Op.GET, key).reply
    if reply is None:
        return "no answer"
    return reply.value if reply.length else None


def evict(rack: Rack, key: bytes, successor: Candidate | None = None) -> None:
    entry = rack.control._index.of_key(key)
    assert entry is not None
    rack.control._eviction.begin(entry, successor)


def crash(rack: Rack, *, controller: bool = False) -> None:
    if controller:
        rack.kill_controller()
        rack.replace_controller()
    else:
        rack.crash_switch()
    rack.run(SECOND)


def check(script: Script, *harms: tuple[type[FarReach], str]) -> None:
    """The original control plane does no harm; each mutant does the harm named with it."""
    traps.check(script, FarReach, *harms)
