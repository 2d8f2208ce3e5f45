"""The pipelines of a switch such as a Tofino.

Each pipeline has its own instance of a program's tables, registers and counters. Ingress uses those
of the port at which a frame arrives, egress those of the port at which it leaves. A recirculated
frame arrives again in the pipeline that it has left. The controller writes a table in one pipeline
after the other, so for a moment their contents differ.
"""

from __future__ import annotations


def pipeline_of(port: int, pipelines: int) -> int:
    """The pipeline of a port, the CPU port included (`pipeline_of` in engine/dataplane)."""
    return port % pipelines
