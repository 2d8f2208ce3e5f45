"""Mutants of LaKe: the simulated design with one safety rule broken (docs/lake.md, "Rules of
freshness")."""

from __future__ import annotations

from netkv.fpga import manifest, mutants
from netkv.fpga.manifest import Manifest
from netkv.fpga.mutants import Mutant

MUTANTS = (
    Mutant(1, "no-bucket-order", "1"),
    Mutant(2, "fill-after-mutation", "2"),
    Mutant(3, "fill-during-mutation", "2"),
    Mutant(4, "fill-before-lifetime", "4"),
    Mutant(5, "fill-of-expiring", "5"),
    Mutant(6, "visible-though-refused", "2"),
    Mutant(7, "visible-during-mutation", "2"),
    Mutant(8, "serve-pending", "2"),
    Mutant(9, "serve-old-epoch", "4"),
    Mutant(10, "serve-after-delayed-flush", "4"),
    Mutant(11, "serve-beyond-max-age", "5"),
    Mutant(12, "no-invalidation", "2"),
    Mutant(13, "fill-ambiguous", "3"),
    Mutant(14, "forget-untracked-tags", "3"),
    Mutant(15, "mix-up-clients", "3"),
    Mutant(16, "fill-of-part", "replies in several datagrams never fill"),
    Mutant(17, "fill-of-refusal", "replies with a status other than 0 never fill"),
    Mutant(18, "no-key-compare", "a hit has the key that was asked for"),
    Mutant(19, "first-operation-only", "2"),
    Mutant(20, "ignore-malformed", "4"),
    Mutant(21, "ignore-flush", "4"),
    Mutant(22, "store-conditional", "6"),
    Mutant(23, "store-expiring", "5"),
    Mutant(24, "ignore-opaque-frames", "4"),
    Mutant(25, "ignore-fragments", "4"),
    Mutant(26, "keep-when-switched-on", "4"),
    Mutant(27, "ignore-long-frames", "4"),
    Mutant(28, "forget-unanswered", "2"),
    Mutant(29, "fill-behind-unseen-mutation", "4"),
)


def design() -> Manifest:
    """The design `lake` with its mutants."""
    return mutants.design(manifest.find("lake"), "lake_mutants", {})
