"""Checks of a load's multigets and key size against what a scheme supports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netkv.errors import MisfitError

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab
    from netkv.model.spec import WorkloadSpec

MAX_SERVERS = 32
"""Server fields in the header of a multiget."""
PLAIN_KEY_SIZE = 16
INSERTING = ("ycsb-d", "insert")
"""Mixes that add keys."""
_ID_BYTES = 8
"""Bytes of a key shorter than 16 bytes that differ between keys, at most."""


def check(scheme: str, lab: GenericLab, workload: WorkloadSpec) -> None:
    """Raises `MisfitError` if a scheme for multigets does not support the lab or the load."""
    if lab.servers > MAX_SERVERS:
        raise MisfitError(
            f"The scheme '{scheme}' has room for {MAX_SERVERS} servers in the header of a "
            f"request, but 'lab.servers' is {lab.servers}.",
            *("lab", "servers"),
        )
    if workload.placement != "seed":
        raise MisfitError(
            f"The scheme '{scheme}' divides keys among servers by the hash of its multigets, but "
            f"'workload.placement' is '{workload.placement}': it must be 'seed'.",
            *("workload", "placement"),
        )
    if workload.rotation:
        raise MisfitError(
            f"The scheme '{scheme}' sends a request to several servers, which cannot take turns: "
            f"'workload.rotation' must be false.",
            *("workload", "rotation"),
        )
    size = workload.key_size
    most = 256 ** min(size, _ID_BYTES)
    # Inserted keys have a range of their own, of the same size (engine/workload).
    inserts = workload.mix in INSERTING
    needed = 2 * workload.keys if inserts else workload.keys
    if size < PLAIN_KEY_SIZE and needed > most:
        why = f", twice over for the inserts of 'mix: {workload.mix}'" if inserts else ""
        raise MisfitError(
            f"There are {most:,} keys of {size} bytes, fewer than 'workload.keys' "
            f"({workload.keys:,}{why}): make 'workload.key_size' larger.",
            *("workload", "key_size"),
        )


def check_single(scheme: str, able: Sequence[str], workload: WorkloadSpec) -> None:
    """Raises `MisfitError` if a load needs a scheme for multigets; `able` are their names."""
    if workload.multiget is not None:
        raise MisfitError(
            f"The scheme '{scheme}' reads one key at a time, but 'workload.multiget' is set.\n"
            f"  Schemes for multigets: {', '.join(able)}.",
            *("workload", "multiget"),
        )
    if workload.key_size != PLAIN_KEY_SIZE:
        raise MisfitError(
            f"The scheme '{scheme}' has keys of {PLAIN_KEY_SIZE} bytes, but 'workload.key_size' is "
            f"{workload.key_size}.\n  Schemes for keys of 4 to 64 bytes: {', '.join(able)}.",
            *("workload", "key_size"),
        )
