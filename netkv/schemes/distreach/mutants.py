"""Mutants of DistReach: a rule of a switch or of the control plane broken
(docs/schemes/distreach.md)."""

from __future__ import annotations

from collections.abc import Mapping

from netkv.schemes.edits import Edit, mutants
from netkv.schemes.scheme import Broken

_MAX_SEQUENCE = "p4/distreach/entry.p4"

MUTANTS = (
    Edit(
        "store-superseded",
        "a write behind a newer one, which may be at the server, is not stored",
        _MAX_SEQUENCE,
        "meta.incoming.fits && !meta.superseded;",
        "meta.incoming.fits;",
    ),
    Edit(
        "refresh-from-embedded",
        "a record that was embedded in a read refreshes no entry",
        _MAX_SEQUENCE,
        "&& (hdr.version_stamp.bits & BIT_EMBEDDED) == 0",
        "",
    ),
    Edit(
        "past-writes-are-oldest",
        "a write of an earlier incarnation that its server applies late outdates the entry",
        _MAX_SEQUENCE,
        "sequence = hdr.version_stamp.incarnation ++ hdr.version_stamp.sequence;",
        "sequence = hdr.version_stamp.incarnation ++ hdr.version_stamp.sequence;"
        " if (!meta.same_incarnation) { sequence = 0; }",
    ),
    Edit(
        "latest-after-recovery",
        "a recovered record is not the latest before a reply of its server has refreshed it",
        "p4/distreach/entry.p4",
        "meta.incoming.latest = !meta.filled;",
        "meta.incoming.latest = !meta.filled || (hdr.version_stamp.bits & BIT_VALID) != 0;",
    ),
)


def broken() -> Mapping[str, Broken]:
    """See `netkv.schemes.parts.mutants`."""
    return mutants(MUTANTS)
