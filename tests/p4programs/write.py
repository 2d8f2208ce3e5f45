"""The packet tests of the programs as STF: `python -m tests.p4programs.write` writes the files.

Tests in Python take the text. Those of the engine read the files, which are not in the repository:
`make test-engine` writes them first.
"""

import os
import tempfile
from functools import cache
from pathlib import Path

from netkv.control.cache_parameters import CacheParameters
from netkv.control.forwarding import ForwardingOnly
from netkv.schemes.netcache.control_plane import NetCache
from netkv.schemes.netcache.options import NetCacheOptions
from netkv.schemes.netmc.control_plane import NetMc
from tests.p4programs.forwarding import common_scenarios
from tests.p4programs.stf import TOPOLOGY, Stf
from tests.schemes.farreach.programs import (
    write_back,
    write_back_control,
    write_back_replies,
    write_back_snapshots,
    write_back_writes,
)
from tests.schemes.netcache.programs import caching
from tests.schemes.netmc.programs import splitting

GENERATED = Path(__file__).parent / "generated"
"""The folder that tests of the engine read."""


def forwarding() -> str:
    """The packet test of p4/forwarding."""
    stf = Stf()
    stf.write(ForwardingOnly(TOPOLOGY).tables())
    common_scenarios.requests_and_replies(stf)
    common_scenarios.controller_port(stf)
    common_scenarios.other_traffic(stf)
    common_scenarios.dropped(stf)
    return stf.text("Forwarding: 2 clients at ports 1 and 2, servers 0 to 2 at ports 3, 4 and 4.")


def netcache() -> str:
    """The packet test of p4/netcache. All reads are sampled; 4 make a key hot."""
    stf = Stf()
    options = NetCacheOptions(sample_rate=1.0, hot_threshold=4)
    stf.write(NetCache(TOPOLOGY, options, CacheParameters()).tables())
    common_scenarios.requests_and_replies(stf)
    common_scenarios.controller_port(stf)
    common_scenarios.other_traffic(stf)
    common_scenarios.dropped(stf)
    stf.write([caching.cached(caching.KEY, 5, 9, 0xFF, 7)])
    caching.updates_and_hits(stf)
    caching.not_cached(stf)
    caching.shared_rows(stf)
    caching.reused_entry(stf)
    caching.statistics(stf)
    caching.malformed(stf)
    caching.servers_and_controller(stf)
    return stf.text("NetCache: 2 clients at ports 1 and 2, servers 0 to 2 at ports 3, 4 and 4.")


def farreach() -> str:
    """The packet test of p4/farreach."""
    stf = write_back.WriteBackStf()
    stf.write(write_back.tables())
    stf.settings()
    stf.begin_incarnation(write_back.INCARNATION)
    common_scenarios.requests_and_replies(stf)
    common_scenarios.controller_port(stf)
    common_scenarios.other_traffic(stf)
    common_scenarios.dropped(stf)
    write_back_writes.numbers(stf)
    write_back_writes.copies(stf)
    write_back_writes.applied_once(stf)
    write_back_writes.not_applied(stf)
    write_back_writes.wrapped_numbers(stf)
    write_back_replies.refreshing(stf)
    write_back_replies.not_refreshing(stf)
    write_back_replies.max_sequences(stf)
    write_back_replies.by_validity(stf)
    write_back_control.fills(stf)
    write_back_control.states(stf)
    write_back_control.statistics(stf)
    write_back_control.closed(stf)
    write_back_control.refused(stf)
    write_back_snapshots.originals(stf)
    write_back_snapshots.clean_originals(stf)
    write_back_snapshots.redirected(stf)
    return stf.text("FarReach: 2 clients at ports 1 and 2, servers 0 to 2 at ports 3, 4 and 4.")


def netmc() -> str:
    """The packet test of p4/netmc with 8 SRV fields, the default."""
    stf = splitting.SplittingStf(fields=8)
    stf.write(NetMc(splitting.TOPOLOGY, servers=8).tables())
    splitting.requests(stf)
    splitting.not_for_this_switch(stf)
    splitting.not_splittable(stf)
    splitting.dropped_between_passes(stf)
    splitting.dropped(stf)
    splitting.controller_port(stf)
    common_scenarios.other_traffic(stf, port=5010)
    return stf.text("NetMC: clients at ports 1 and 2, servers 0 to 7 at ports 11 to 17.")


def netmc_32() -> str:
    """The packet test of p4/netmc with NETMC_SERVERS=32."""
    stf = splitting.SplittingStf(fields=32)
    stf.write(NetMc(splitting.LARGE_TOPOLOGY, servers=32).tables())
    splitting.large_racks(stf)
    return stf.text("NetMC with NETMC_SERVERS=32: servers 0 to 31 at ports 101 to 132.")


PROGRAMS = (forwarding, netcache, farreach, netmc, netmc_32)


@cache
def text_of(name: str) -> str:
    """The packet test with this name."""
    program = next(each for each in PROGRAMS if each.__name__ == name)
    return program()


def write(folder: Path) -> None:
    """Writes all packet tests. Whoever reads a file meanwhile has the whole old or new one."""
    folder.mkdir(parents=True, exist_ok=True)
    # In the same file system, so that a rename is one step.
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for program in PROGRAMS:
            file = f"{program.__name__}.stf"
            (Path(scratch) / file).write_text(text_of(program.__name__))
            os.replace(Path(scratch) / file, folder / file)


if __name__ == "__main__":
    write(GENERATED)
    print(f"==> {GENERATED}")
