"""The schemes that netkv can compare, each stated once.

A scheme is what differs: its P4 program, the roles that its server shims and its clients play and
its control plane. Everything else (partitioning, forwarding, request path, supervision) is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from netkv import resources
from netkv.errors import NetkvError, UsageError, suggest
from netkv.metrics.metric import Metric
from netkv.schemes import multiget, multiget_metrics
from netkv.schemes.coordimc import metrics as coordimc_metrics
from netkv.schemes.farreach import metrics as farreach_metrics

if TYPE_CHECKING:
    from netkv.control.base import ControlPlane
    from netkv.control.topology import Topology
    from netkv.lab.spec import LabSpec, RackSpec, WorkloadSpec


def _no_defines(lab: LabSpec) -> Mapping[str, str]:  # noqa: ARG001 (all alike)
    return {}


@dataclass(frozen=True)
class Scheme:
    """One way to serve keys from a rack."""

    name: str
    """As users write it, e.g. `netcache`."""
    title: str
    """As figures and tables print it, e.g. `NetCache`."""
    program: str
    """Path of the P4 program in `p4/`: `NAME/NAME.p4`."""
    server_role: str
    """The protocol role that the server shims play."""
    client_role: Literal["plain", "farreach", "netmc", "climc", "coordimc"]
    """The protocol role that the clients play: `plain` ones only ask, those of `farreach` preserve
    what only the switch has (docs/farreach.md); the others send multigets."""
    caches: bool
    """Whether the switch serves reads; a scheme that does not has no hit ratio to predict."""
    paper: str
    """Where the scheme is described."""
    summary: str
    """One sentence for lists."""
    control_plane: Callable[[RackSpec, Topology], ControlPlane]
    """Makes the control plane for a rack with these hosts at the switch."""
    recovery_phases: tuple[str, ...] = ()
    """How its control plane calls the phases of a recovery (`Recovered`), in their order; empty:
    a switch that has lost its memory is just filled anew."""
    max_pipelines: int = 1
    """Of a switch: more than one only if the program keeps each key's state where all its packets
    meet it, and the control plane bears that a table write reaches one pipeline after the other."""
    most_clients: int = 32_767
    """Client identities that its parts tell apart."""
    one_switch: bool = False
    """Whether it is made for a single switch."""
    defines: Callable[[LabSpec], Mapping[str, str]] = _no_defines
    """Macros with which the program is compiled for a lab: what is fixed at build time."""
    needs: Callable[[LabSpec], None] | None = None
    """What else it needs of a lab: raises `UsageError`."""
    multigets: bool = False
    """Whether a request may be for several keys of different servers, which own keys by the hash
    modulo their number, and keys may be of 4 to 64 bytes."""
    coordinated: bool = False
    """Whether requests go to a coordinator, a host of its own."""
    metrics: tuple[Metric, ...] = ()
    """What its runs have beside the metrics of all runs (`netkv.metrics.common`)."""

    @property
    def client_keeps(self) -> bool:
        """Whether clients keep records that only the switch has."""
        return self.client_role == "farreach"

    def guests(self, lab: LabSpec) -> int:
        """Places for programs (`lab.guests`) beside the load's clients."""
        return max(0, min(lab.guests, self.most_clients - lab.clients))

    @property
    def program_path(self) -> Path:
        """The P4 source of the scheme."""
        return resources.path("p4") / self.program

    def compile(self, lab: LabSpec) -> bytes:
        """The bundle of the program for a lab; raises `NetkvError` with the compiler's report."""
        return compile_program(self.program_path, self.defines(lab))

    def check(self, lab: LabSpec, workload: WorkloadSpec | None = None) -> None:
        """Raises `UsageError` for a lab or load (None: the usual one) that the scheme cannot run in
        or with.
        """
        if workload is None:
            from netkv.lab.spec import WorkloadSpec

            workload = WorkloadSpec()
        if self.multigets:
            multiget.check(self.name, lab, workload)
        else:
            able = [each.name for each in all_schemes() if each.multigets]
            multiget.check_single(self.name, able, workload)
        if self.one_switch and lab.topology.kind != "rack":
            raise UsageError(
                f"The scheme '{self.name}' is made for one switch: 'lab.topology.kind' must be "
                f"'rack', not '{lab.topology.kind}'."
            )
        if self.needs is not None:
            self.needs(lab)
        if lab.pipelines <= self.max_pipelines:
            return
        most = (
            "1 pipeline" if self.max_pipelines == 1 else f"at most {self.max_pipelines} pipelines"
        )
        able = [each.name for each in all_schemes() if lab.pipelines <= each.max_pipelines]
        raise UsageError(
            f"The scheme '{self.name}' runs on switches of {most}, but 'lab.pipelines' is "
            f"{lab.pipelines}.\n  Schemes that run on {lab.pipelines}: {', '.join(able) or 'none'}."
        )


def compile_program(program: Path, defines: Mapping[str, str]) -> bytes:
    """The bundle of a program, the includes of `p4/` at hand.

    Raises `NetkvError` with the compiler's report.
    """
    from netkv import _engine

    try:
        return _engine.compile_p4(str(program), [str(resources.path("p4"))], dict(defines))
    except _engine.CompileError as error:
        raise NetkvError(str(error)) from error


# Control planes are imported late: listing schemes must not need them and what they need.
def _nocache(spec: RackSpec, topology: Topology) -> ControlPlane:  # noqa: ARG001 (all alike)
    from netkv.control.nocache import NoCache

    return NoCache(topology)


def _netcache(spec: RackSpec, topology: Topology) -> ControlPlane:
    from netkv.control.base import SECOND
    from netkv.control.entries import NetCacheOptions
    from netkv.control.netcache import NetCache
    from netkv.control.roundtrip import Timeouts
    from netkv.control.slots import MAX_ROWS

    lab = spec.lab
    options = NetCacheOptions(
        capacity=lab.cache_entries,
        rows=lab.cache_rows or MAX_ROWS,
        sample_rate=1.0 if lab.sample_rate is None else lab.sample_rate,
        hot_threshold=lab.hot_threshold,
        epoch=max(round(lab.epoch * SECOND), 1),
        seed=spec.seed,
        timeouts=Timeouts().scaled(lab.scale),
    )
    return NetCache(topology, options)


def _farreach(spec: RackSpec, topology: Topology) -> ControlPlane:
    from netkv.control.base import SECOND
    from netkv.control.farreach import FarReach
    from netkv.control.write_back.entries import FarReachOptions

    lab = spec.lab
    options = FarReachOptions(
        capacity=lab.cache_entries,
        hot_threshold=lab.hot_threshold,
        epoch=max(round(lab.epoch * SECOND), 1),
        snapshot_period=round(lab.snapshot_period * SECOND),
        pipelines=lab.pipelines,
        seed=spec.seed,
    )
    # What waits for hosts follows what hosts and links take.
    options = replace(
        options,
        sample_rate=options.sample_rate if lab.sample_rate is None else lab.sample_rate,
        timeouts=options.timeouts.scaled(lab.scale),
        collect_patience=round(options.collect_patience * lab.scale),
    )
    return FarReach(topology, options)


def _netmc(spec: RackSpec, topology: Topology) -> ControlPlane:
    from netkv.control.netmc import NetMc

    return NetMc(topology, spec.lab.servers)


def _netmc_defines(lab: LabSpec) -> Mapping[str, str]:
    return {"NETMC_SERVERS": str(min(lab.servers, multiget.MOST_SERVERS))}


def _netcache_needs(lab: LabSpec) -> None:
    _need_cache(lab, "netcache")


def _farreach_needs(lab: LabSpec) -> None:
    from netkv.control.write_back.entries import MAX_ENTRIES

    _need_cache(lab, "farreach")
    if lab.cache_entries > MAX_ENTRIES:
        raise UsageError(
            f"The scheme 'farreach' has room for {MAX_ENTRIES} of 'lab.cache_entries', "
            f"not for {lab.cache_entries}."
        )
    if lab.cache_rows is not None:
        raise UsageError(
            "The scheme 'farreach' keeps a record in one row of all value arrays, so "
            "'lab.cache_rows' means nothing to it: 'lab.cache_entries' is the size of its cache."
        )


def _need_cache(lab: LabSpec, scheme: str) -> None:
    if lab.cache_entries == 0:
        raise UsageError(
            f"The scheme '{scheme}' needs at least 1 of 'lab.cache_entries'; "
            "without a cache it is the scheme 'nocache'."
        )


_SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme(
            name="nocache",
            title="NoCache",
            program="nocache/nocache.p4",
            server_role="nocache",
            client_role="plain",
            caches=False,
            paper="Baseline of NetCache (SOSP 2017) and FarReach (ATC 2023)",
            summary="The switch only routes requests to the owner of the key.",
            control_plane=_nocache,
            max_pipelines=4,
        ),
        Scheme(
            name="netcache",
            title="NetCache",
            program="netcache/netcache.p4",
            server_role="netcache",
            client_role="plain",
            caches=True,
            paper="Jin et al., NetCache, SOSP 2017",
            summary="Write-through cache of hot records in the switch.",
            control_plane=_netcache,
            # p4/netcache keeps values and statistics in ingress: requests and the servers'
            # updates would meet different ones.
            max_pipelines=1,
            needs=_netcache_needs,
        ),
        Scheme(
            name="farreach",
            title="FarReach",
            program="farreach/farreach.p4",
            server_role="farreach",
            client_role="farreach",
            caches=True,
            paper="Sheng et al., Toward Distributed Write-back Caching in Programmable Switches",
            summary="Write-back cache of hot records in the switch, which survives its crash.",
            control_plane=_farreach,
            recovery_phases=("collect", "update servers", "re-admit"),
            max_pipelines=4,
            # p4/farreach remembers the last requests of so many.
            most_clients=64,
            one_switch=True,
            needs=_farreach_needs,
            metrics=farreach_metrics.METRICS,
        ),
        Scheme(
            name="netmc",
            title="NetMC",
            program="netmc/netmc.p4",
            server_role="multiget",
            client_role="netmc",
            caches=False,
            paper="Bang and Kim, Network-Accelerated Multiget Coordination",
            summary="The switch splits a multiget among the servers, the client gathers replies.",
            control_plane=_netmc,
            max_pipelines=4,
            one_switch=True,
            defines=_netmc_defines,
            multigets=True,
            metrics=multiget_metrics.METRICS,
        ),
        Scheme(
            name="climc",
            title="CliMC",
            program="nocache/nocache.p4",
            server_role="multiget",
            client_role="climc",
            caches=False,
            paper="Baseline of NetMC: Redis, Memcached and RocksDB work like that",
            summary="The client splits a multiget among the servers and gathers replies.",
            control_plane=_nocache,
            max_pipelines=4,
            multigets=True,
            metrics=multiget_metrics.METRICS,
        ),
        Scheme(
            name="coordimc",
            title="CoordiMC",
            program="nocache/nocache.p4",
            server_role="multiget",
            client_role="coordimc",
            caches=False,
            paper="Baseline of NetMC: Cassandra, DynamoDB and MongoDB work like that",
            summary="A coordinator splits a multiget among the servers and gathers replies.",
            control_plane=_nocache,
            max_pipelines=4,
            multigets=True,
            coordinated=True,
            metrics=coordimc_metrics.METRICS,
        ),
    )
}


def all_schemes() -> tuple[Scheme, ...]:
    """Every scheme, in the order in which figures show them."""
    return tuple(_SCHEMES.values())


def get(name: str) -> Scheme:
    """The scheme of that name; raises `UsageError` that names the schemes there are."""
    try:
        return _SCHEMES[name]
    except KeyError:
        raise UsageError(
            f"There is no scheme '{name}'.\n  {suggest(name, _SCHEMES, label='Schemes')}"
        ) from None


def of(spec: RackSpec) -> Scheme:
    """The scheme of a rack; raises `UsageError` if there is none or it cannot run there."""
    scheme = get(spec.scheme)
    scheme.check(spec.lab, spec.workload)
    return scheme
