"""Tests of the simulator share the scheme `keeper` with those of live racks."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))
