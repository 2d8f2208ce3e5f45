"""Mutants of FarReach: a rule of the switch or of the control plane broken
(docs/schemes/farreach.md)."""

from __future__ import annotations

from collections.abc import Mapping

from netkv.schemes.edits import Edit, mutants
from netkv.schemes.scheme import Broken

MUTANTS = (
    Edit(
        "old-records-count",
        "records from before the last recovery do not count",
        "netkv/schemes/farreach/recovery.py",
        "if recovered and is_newer(recovered, record.incarnation):",
        "if False:",
    ),
    Edit(
        "past-writes-are-oldest",
        "a write of an earlier incarnation that its server applies late outdates the entry",
        "p4/farreach/entry.p4",
        "sequence = hdr.version_stamp.incarnation ++ hdr.version_stamp.sequence;",
        "sequence = hdr.version_stamp.incarnation ++ hdr.version_stamp.sequence;"
        " if (!meta.same_incarnation) { sequence = 0; }",
    ),
)


def broken() -> Mapping[str, Broken]:
    """See `netkv.schemes.parts.mutants`."""
    return mutants(MUTANTS)
