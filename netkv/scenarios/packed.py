"""Results of a pool, in a form that takes a tenth of their memory."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Sequence
from typing import overload

from netkv.scenarios.results import RunResult

FROM = 1000
"""Runs of a scenario from which on its results are packed."""


class PackedRuns(Sequence[RunResult]):
    """Results, each of which is unpacked when it is asked for."""

    def __init__(self, packed: Sequence[bytes]) -> None:
        self._packed = packed

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[RunResult]:
        return map(unpacked, self._packed)

    @overload
    def __getitem__(self, at: int) -> RunResult: ...
    @overload
    def __getitem__(self, at: slice) -> PackedRuns: ...
    def __getitem__(self, at: int | slice) -> RunResult | PackedRuns:
        found = self._packed[at]
        return unpacked(found) if isinstance(found, bytes) else PackedRuns(found)


def packed(result: RunResult) -> bytes:
    """A result for `unpacked`."""
    return zlib.compress(pickle.dumps(result), 1)


def unpacked(data: bytes) -> RunResult:
    """The result."""
    found: RunResult = pickle.loads(zlib.decompress(data))
    return found
