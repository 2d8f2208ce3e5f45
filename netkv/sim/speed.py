"""Measures the speed of the simulator on this machine, and caches it in the state directory."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from netkv import __version__, schemes
from netkv.home import home
from netkv.machine import same_machine

_SERVERS = 128
_KEYS = 1_000_000_000
_SECONDS = 0.5
_MIN_REQUESTS = 1000
"""With fewer requests the measurement is repeated for a longer time."""
_lock = threading.Lock()


def requests_per_core_s() -> float:
    """How many requests to servers the simulator handles in a second of one core, about.

    The first call with a version of netkv on a machine takes about a second.
    """
    with _lock:
        speed = _read()
        if speed is None:
            speed = _measure()
            _write(speed)
        return speed


def path() -> Path:
    """The file with the speed."""
    return home() / "simulator-speed.json"


def _measure() -> float:
    from netkv.sim.timing import Case, measure

    first = schemes.all_schemes()[0].name
    # Other processes may occupy the core for a whole measurement.
    for seconds in (_SECONDS, 4 * _SECONDS, 16 * _SECONDS):
        found = measure(Case(scheme=first, servers=_SERVERS, keys=_KEYS, seconds=seconds))
        if found.requests >= _MIN_REQUESTS:
            break
    return max(found.requests, 1) / max(found.cpu_s, 1e-3)


def _read() -> float | None:
    try:
        kept = json.loads(path().read_text(encoding="utf-8"))
        if kept["netkv_version"] != __version__ or not same_machine(kept["host"]):
            return None
        speed = float(kept["requests_per_core_s"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return speed if speed > 0 else None


def _write(speed: float) -> None:
    from netkv.machine import host

    kept = {"netkv_version": __version__, "host": host(), "requests_per_core_s": speed}
    try:
        path().parent.mkdir(parents=True, exist_ok=True)
        path().write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    except OSError:
        # The next process measures it again.
        pass
