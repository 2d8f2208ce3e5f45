"""Schemes that differ in one property from one that ships."""

from __future__ import annotations

from dataclasses import replace

from netkv.schemes import Scheme


def preserving(scheme: Scheme) -> Scheme:
    """The scheme, as if its clients kept records."""
    return replace(scheme, traits=replace(scheme.traits, client_keeps=True))
