"""What a wheel is built for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
WORK = ROOT / ".cache/wheels"

GLIBC = "2_17"
"""Oldest glibc that a wheel runs with, as in its name. No dependency runs with an older one, so it
is theirs that counts: numpy and pillow need 2.27."""


@dataclass(frozen=True, slots=True)
class Target:
    """A processor."""

    arch: str
    """As in the names of wheels."""
    debian: str
    """Debian's name of it."""

    @property
    def triple(self) -> str:
        """Rust's name of it."""
        return f"{self.arch}-unknown-linux-gnu"

    def wheel(self) -> Path | None:
        """The wheel in `dist/`; None if it is not built."""
        found = sorted(DIST.glob(f"netkv-*-abi3-*manylinux_{GLIBC}_{self.arch}*.whl"))
        return found[-1] if found else None


TARGETS = {it.arch: it for it in (Target("x86_64", "amd64"), Target("aarch64", "arm64"))}
