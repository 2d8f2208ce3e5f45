"""Vendored code has the documented hash and licence."""

from __future__ import annotations

import hashlib
from pathlib import Path

VENDOR = Path(__file__).parents[2] / "web" / "vendor"


def test_plotting_library_has_the_documented_hash() -> None:
    digest = hashlib.sha256((VENDOR / "plotly-cartesian.min.js").read_bytes()).hexdigest()
    assert digest in (VENDOR / "README.md").read_text(encoding="utf-8")
    assert "MIT" in (VENDOR / "plotly-LICENSE").read_text(encoding="utf-8")
