"""Mutants of DistCache: a rule of the control plane broken (docs/schemes/distcache.md,
"Controller")."""

from __future__ import annotations

from collections.abc import Mapping

from netkv.schemes.edits import Edit, mutants
from netkv.schemes.scheme import Broken

MUTANTS = (
    Edit(
        "servers-first",
        "switches of clients confirm that they send no reads before servers are told",
        "netkv/schemes/distcache/service.py",
        "sending = {client.name for client in self._clients}",
        "sending = set()",
    ),
    Edit(
        "answer-restarted-at-once",
        "RESTARTED is answered when all upper copies are installed again",
        "netkv/schemes/distcache/restarts.py",
        "if restart.waits_for:",
        "if False:",
    ),
)


def broken() -> Mapping[str, Broken]:
    """See `netkv.schemes.parts.mutants`."""
    return mutants(MUTANTS)
