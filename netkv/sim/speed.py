"""The speed of the simulator on this machine: measured once, kept in the state directory."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from netkv import __version__, schemes
from netkv.lab import state
from netkv.scenarios.provenance import same_machine

_SERVERS = 128
_KEYS = 1_000_000_000
_SECONDS = 0.5
_MIN_REQUESTS = 1000
"""With fewer the speed is not known."""
_lock = threading.Lock()


def requests_per_core_s() -> float:
    """Requests to servers that the simulator does in a second of one core, about.

    The first call on a machine, and with a version of netkv, takes about a second.
    """
    with _lock:
        known = _read()
        if known is None:
            known = _measure()
            _keep(known)
        return known


def path() -> Path:
    """Where the speed is kept."""
    return state.home() / "simulator-speed.json"


def _measure() -> float:
    from netkv.bench.simulated_rack import Case, measure

    first = schemes.all_schemes()[0].name
    # Other work may keep this process from its core for a whole measurement.
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


def _keep(speed: float) -> None:
    from netkv.scenarios.provenance import host

    kept = {"netkv_version": __version__, "host": host(), "requests_per_core_s": speed}
    try:
        path().parent.mkdir(parents=True, exist_ok=True)
        path().write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    except OSError:
        # It is measured again next time.
        pass
