"""Makes the fixtures of `serving` and `live_lab` known to the tests of the API."""

from tests.api.live_lab import api, lab, load
from tests.api.serving import served, slow_runner, store

__all__ = ["api", "lab", "load", "served", "slow_runner", "store"]
