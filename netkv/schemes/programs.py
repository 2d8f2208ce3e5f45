"""The compiled programs of a rack's switches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netkv.model.network import Place


@dataclass(frozen=True)
class Programs:
    """A bundle for each place of a network."""

    main: bytes
    """Of the switches with servers, and at places that `others` leaves out."""
    others: Mapping[Place, bytes] = field(default_factory=dict)

    def at(self, place: Place) -> bytes:
        """The bundle of the switches at a place."""
        return self.others.get(place, self.main)

    @property
    def source_hash(self) -> str:
        """The hash of the source and its includes; of several programs, the hash of theirs."""
        main = _source_hash(self.main)
        if not self.others:
            return main
        others = sorted((place, _source_hash(bundle)) for place, bundle in self.others.items())
        return hashlib.sha256(json.dumps([main, others]).encode()).hexdigest()


def _source_hash(bundle: bytes) -> str:
    return str(json.loads(bundle.split(b"\n", 1)[1])["source_hash"])
