"""The digests of a write-through cache."""

from dataclasses import dataclass

from netkv.control.base import Digest
from netkv.model.topology import KEY_BYTES

HOT_KEY = "hot_key_t"


@dataclass(slots=True, unsafe_hash=True)  # not `frozen`, as classes of `messages.py`
class HotKey:
    """An uncached key was read often in a statistics epoch."""

    key: bytes
    count: int
    epoch: int


def decode_hot_key(digest: Digest) -> HotKey:
    """Decode a digest `hot_key_t`."""
    members = digest.members
    return HotKey(members["key"].to_bytes(KEY_BYTES), members["count"], members["epoch"])
