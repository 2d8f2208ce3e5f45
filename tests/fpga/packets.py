"""The packets of the benches (`fpga/tests`), for tests in Python."""

from __future__ import annotations

import sys

from netkv import rtl_sources as sources

_BENCHES = str(sources.folder() / "tests")

sys.path.insert(0, _BENCHES)
try:
    import frames
    import memcached
    from memcached import Operation, get, store
finally:
    sys.path.remove(_BENCHES)

__all__ = ["Operation", "frames", "get", "memcached", "store"]
