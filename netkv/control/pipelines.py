"""Switches of several pipelines, as a Tofino has them.

Each pipeline has its own instance of all that a program keeps: tables, registers, counters. A frame
meets those of the port at which it comes in while it is in ingress, and those of the port at which
it leaves while it is in egress; one that recirculates comes in again where it left. The controller
writes a table in one pipeline after the other, so for a moment they differ.
"""

from __future__ import annotations


def pipeline_of(port: int, pipelines: int) -> int:
    """The pipeline of a port, the CPU port included (`pipeline_of` in engine/dataplane)."""
    return port % pipelines
