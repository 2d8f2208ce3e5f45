"""Makes the fixtures of `serving` known to the tests of the API."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "runs")]

from serving import served, slow_runner, store  # noqa: E402  # found by the line above

__all__ = ["served", "slow_runner", "store"]
