"""Mutants of the client-side cache: its design with one safety rule broken
(docs/schemes/client-cache.md).

Numbers below 40 and from 80 to 199 are those of LaKe. They concern modules that both share, or a
rule of both.
"""

from __future__ import annotations

from collections.abc import Mapping

from netkv.kits import design_mutants as mutants
from netkv.kits.design_mutants import Mutant
from netkv.model import manifest
from netkv.model.manifest import Manifest
from netkv.schemes.card_mutants import cards
from netkv.schemes.client_cache import card
from netkv.schemes.scheme import Broken

MUTANTS = (
    Mutant(2, "fill-after-mutation", "2"),
    Mutant(3, "fill-during-mutation", "2"),
    Mutant(4, "fill-before-lifetime", "4"),
    Mutant(5, "fill-of-expiring", "5"),
    Mutant(6, "visible-though-refused", "2"),
    Mutant(7, "visible-during-mutation", "2"),
    Mutant(10, "serve-after-delayed-flush", "4"),
    Mutant(14, "forget-untracked-tags", "3"),
    Mutant(22, "store-conditional", "6"),
    Mutant(23, "store-expiring", "5"),
    Mutant(25, "ignore-fragments", "4"),
    Mutant(27, "ignore-long-frames", "4"),
    Mutant(28, "forget-unanswered", "2"),
    Mutant(29, "fill-behind-unseen-mutation", "4"),
    Mutant(46, "serve-pending", "2"),
    Mutant(47, "serve-old-epoch", "4"),
    Mutant(49, "serve-beyond-max-age", "5"),
    Mutant(50, "no-invalidation", "2"),
    Mutant(51, "fill-ambiguous", "3"),
    Mutant(52, "mix-up-clients", "3"),
    Mutant(53, "mix-up-replies-of-servers", "3"),
    Mutant(54, "mix-up-items-of-servers", "a hit is an item of the server that was asked"),
    Mutant(55, "mix-up-functions", "3"),
    Mutant(56, "share-between-groups", "a group does not read the entries of another"),
    Mutant(57, "fill-of-part", "replies in several datagrams never fill"),
    Mutant(58, "fill-of-refusal", "replies with a status other than 0 never fill"),
    Mutant(59, "no-key-compare", "a hit has the key that was asked for"),
    Mutant(60, "first-operation-only", "2"),
    Mutant(61, "ignore-malformed", "4"),
    Mutant(62, "ignore-flush", "4"),
    Mutant(63, "ignore-opaque-frames", "4"),
    Mutant(64, "keep-when-switched-on", "4"),
    Mutant(65, "keep-when-reconfigured", "4"),
    Mutant(66, "act-on-corrupt", "7"),
    Mutant(80, "ignore-ip-checksum", "7"),
    Mutant(81, "ignore-udp-checksum", "7"),
    Mutant(82, "require-udp-checksum", "7"),
    Mutant(83, "ignore-lengths", "7"),
    Mutant(85, "act-on-corrupt-opaque-frames", "7"),
    Mutant(89, "answer-without-time-to-live", "8"),
    Mutant(90, "invalidate-items-of-one-server", "8"),
    Mutant(201, "acknowledge-another-store", "2"),
    Mutant(202, "acknowledge-mutation-as-set", "2"),
    Mutant(203, "no-key-length-compare", "a hit has the key that was asked for"),
    Mutant(204, "mix-up-items-of-server-ports", "a hit is an item of the server that was asked"),
    Mutant(205, "mix-up-replies-of-server-ports", "3"),
    Mutant(206, "mix-up-client-ports", "3"),
    Mutant(207, "mix-up-opaques", "3"),
    Mutant(208, "mix-up-opcodes", "3"),
    Mutant(212, "store-behind-unseen-mutation", "4"),
    Mutant(213, "end-epochs-of-all-groups", "a group does not end the entries of another"),
    Mutant(214, "pause-all-groups", "a group does not end the entries of another"),
)


def design() -> Manifest:
    """The design `client-cache` with its mutants and a small table."""
    return mutants.design(manifest.find("client-cache"), "client_cache_mutants", {"INDEX_BITS": 8})


def full_design() -> Manifest:
    """The same with the tables of the design as it ships."""
    cache = manifest.find("client-cache")
    return mutants.design(cache, "client_cache_mutants", cache.parameters)


def broken() -> Mapping[str, Broken]:
    """See `netkv.schemes.parts.mutants`."""
    return cards(card, MUTANTS, full_design)
