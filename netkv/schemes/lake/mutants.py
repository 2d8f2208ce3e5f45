"""Mutants of LaKe: the simulated design with one safety rule broken (docs/schemes/lake.md, "Rules
of freshness")."""

from __future__ import annotations

from collections.abc import Mapping

from netkv.kits import design_mutants as mutants
from netkv.kits.design_mutants import Mutant
from netkv.model import manifest
from netkv.model.manifest import Manifest
from netkv.schemes.card_mutants import cards
from netkv.schemes.lake import card
from netkv.schemes.scheme import Broken

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
    Mutant(80, "ignore-ip-checksum", "7"),
    Mutant(81, "ignore-udp-checksum", "7"),
    Mutant(82, "require-udp-checksum", "7"),
    Mutant(83, "ignore-lengths", "7"),
    Mutant(84, "act-on-corrupt", "7"),
    Mutant(85, "act-on-corrupt-opaque-frames", "7"),
    Mutant(86, "mix-up-items-of-servers", "8"),
    Mutant(87, "mix-up-replies-of-servers", "8"),
    Mutant(88, "answer-for-other-machines", "8"),
    Mutant(89, "answer-without-time-to-live", "8"),
    Mutant(90, "invalidate-items-of-one-server", "8"),
    Mutant(101, "acknowledge-another-store", "2"),
    Mutant(102, "acknowledge-any-chunk", "2"),
    Mutant(103, "serve-a-longer-key", "a hit has the key that was asked for"),
    Mutant(106, "compare-first-line-of-key", "a hit has the key that was asked for"),
    Mutant(107, "compare-every-other-window", "a hit has the key that was asked for"),
    Mutant(108, "acknowledge-mutation-as-set", "2"),
    Mutant(109, "store-behind-unseen-mutation", "4"),
    Mutant(112, "mix-up-opcodes", "3"),
    Mutant(113, "mix-up-opaques", "3"),
    Mutant(114, "mix-up-ports", "3"),
    Mutant(115, "reuse-chunk-of-another-size", "a chunk holds an item of its size"),
    Mutant(116, "take-chunk-of-another-size", "a chunk holds an item of its size"),
    Mutant(117, "replies-are-requests", "replies come from the ports of servers"),
    Mutant(118, "no-bucket-compare", "1"),
    Mutant(133, "take-any-request", "3"),
    Mutant(135, "mark-spares-live-entries", "3"),
    Mutant(136, "insert-spares-older-entry", "3"),
    Mutant(137, "newer-entry-is-not-ambiguous", "3"),
    Mutant(138, "mark-for-ever", "3"),
    Mutant(139, "requests-never-expire", "3"),
    Mutant(145, "mutations-never-expire", "2"),
    Mutant(150, "reply-from-a-client", "replies come from the ports of servers"),
    Mutant(151, "reply-of-any-magic", "a reply has the magic of a reply"),
    Mutant(154, "time-of-day-is-a-delay", "4"),
    Mutant(155, "trust-the-clocks", "4"),
    Mutant(156, "pause-late", "4"),
    Mutant(157, "pause-too-short", "4"),
    Mutant(158, "every-text-changes-items", "only what changes items costs the content"),
    Mutant(159, "pause-at-once", "a flush stops hits only while it may take effect"),
)


def design() -> Manifest:
    """The design `lake` with its mutants."""
    return mutants.design(manifest.find("lake"), "lake_mutants", {})


def broken() -> Mapping[str, Broken]:
    """See `netkv.schemes.parts.mutants`."""
    return cards(card, MUTANTS, design)
