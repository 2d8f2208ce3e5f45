"""The compiled programs of a rack's switches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netkv.model.network import Tier


@dataclass(frozen=True)
class Programs:
    """A bundle for each tier of a network."""

    main: bytes
    """Of the switches with servers, and at tiers that `others` leaves out."""
    others: Mapping[Tier, bytes] = field(default_factory=dict)

    def at(self, tier: Tier) -> bytes:
        """The bundle of the switches at a tier."""
        return self.others.get(tier, self.main)

    @property
    def source_hash(self) -> str:
        """The hash of the source and its includes; of several programs, the hash of theirs."""
        main = _source_hash(self.main)
        if not self.others:
            return main
        others = sorted((tier, _source_hash(bundle)) for tier, bundle in self.others.items())
        return hashlib.sha256(json.dumps([main, others]).encode()).hexdigest()


def _source_hash(bundle: bytes) -> str:
    return str(json.loads(bundle.split(b"\n", 1)[1])["source_hash"])
