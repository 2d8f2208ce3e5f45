"""Checks whether a scheme can run in a lab with a load, by the limits in its `Scheme`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.errors import MisfitError
from netkv.kits.multiget import checks as multiget
from netkv.model.nodes import Card, Client, ClientCard, Servers
from netkv.model.scheme_options import ClientCardOptions, MultigetPackets, SwitchCache
from netkv.schemes import counters, registry

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab
    from netkv.model.spec import GenericRack, WorkloadSpec
    from netkv.schemes.scheme import Scheme


def check(scheme: Scheme, lab: GenericLab, workload: WorkloadSpec) -> None:
    """Raises `MisfitError` if the scheme does not support the lab or the load."""
    if scheme.traits.multigets:
        multiget.check(scheme.name, lab, workload)
    else:
        able = [each.name for each in registry.all_schemes() if each.traits.multigets]
        multiget.check_single(scheme.name, able, workload)
    if workload.conditional and not scheme.traits.conditional_writes:
        able = [each.name for each in registry.all_schemes() if each.traits.conditional_writes]
        raise MisfitError(
            f"The scheme '{scheme.name}' has no conditional writes, but 'workload.conditional' is "
            f"{workload.conditional:g}.\n  Schemes with conditional writes: {', '.join(able)}.",
            *("workload", "conditional"),
        )
    if scheme.limits.one_switch and lab.topology.kind != "rack":
        raise MisfitError(
            f"The scheme '{scheme.name}' supports one switch only: 'lab.topology.kind' must be "
            f"'rack', not '{lab.topology.kind}'.",
            *("lab", "topology", "kind"),
        )
    # Roles need the engine, which takes time to load.
    from netkv import roles

    roles.check("servers", scheme.role(Servers, lab))
    roles.check("clients", scheme.role(Client, lab))
    counters.check_counters(scheme, lab)
    options = scheme.options.of(lab)
    if isinstance(options, SwitchCache):
        _check_entries(scheme.name, options)
    if scheme.needs is not None:
        scheme.needs(lab)
    if lab.pipelines > scheme.limits.pipelines:
        _refuse_pipelines(scheme, lab.pipelines)


def check_live(scheme: Scheme, lab: GenericLab, workload: WorkloadSpec) -> None:
    """Raises `MisfitError` if only the simulator can run the scheme in the lab, or the load."""
    if workload.shift is not None and workload.shift.admit is not None:
        raise MisfitError(
            "Only the simulator has an oracle that reports hot keys: live, "
            "'workload.shift.admit' must be left out.",
            *("workload", "shift", "admit"),
        )
    if lab.topology.kind != "rack":
        _check_several_switches(lab)
    if issubclass(scheme.options, MultigetPackets):
        _check_packets(scheme.options.of(lab).mtu)
    if scheme.card is None:
        return
    where = "before each server" if scheme.has(Card) else "in clients"
    limit = f"The scheme '{scheme.name}' has FPGA cards {where}. Live that needs"
    if lab.target != "engine":
        raise MisfitError(f"{limit} 'lab.target: engine', not '{lab.target}'.", "lab", "target")
    if lab.fabric != "udp":
        raise MisfitError(f"{limit} 'lab.fabric: udp', not '{lab.fabric}'.", "lab", "fabric")
    if scheme.has(ClientCard):
        _check_one_client(limit, lab)
    elif lab.server_processes < lab.servers:
        raise MisfitError(
            f"{limit} a process for each server: 'lab.server_processes' must be at least "
            f"'lab.servers', which is {lab.servers}, not {lab.server_processes}.",
            *("lab", "server_processes"),
        )


def _check_packets(mtu: int) -> None:
    """Raises `MisfitError` if packets are larger than those of live links."""
    usual = MultigetPackets.model_fields["mtu"].default
    if mtu != usual:
        raise MisfitError(
            f"Only the simulator has larger packets: live, 'lab.mtu' must be {usual:,}, not "
            f"{mtu:,}.",
            *("lab", "mtu"),
        )


def _check_several_switches(lab: GenericLab) -> None:
    """Raises `MisfitError` if the live lab cannot have several switches."""
    for name, needed, found in (("target", "engine", lab.target), ("fabric", "udp", lab.fabric)):
        if found != needed:
            raise MisfitError(
                f"A live lab with the topology '{lab.topology.kind}' needs 'lab.{name}: {needed}', "
                f"not '{found}'.",
                *("lab", name),
            )


def _check_one_client(limit: str, lab: GenericLab) -> None:
    """Raises `MisfitError` if the process of the clients would need several links."""
    functions = ClientCardOptions.of(lab).card_functions
    for name, count in (("clients", lab.clients), ("card_functions", functions)):
        if count > 1:
            raise MisfitError(
                f"{limit} a load of one client, since all clients of the load have one link: "
                f"'lab.{name}' must be 1, not {count}.",
                *("lab", name),
            )


def _check_entries(scheme: str, options: SwitchCache) -> None:
    """Raises `MisfitError` if the cache has more entries than the switch has room for."""
    if options.cache_entries > options.max_entries:
        raise MisfitError(
            f"The scheme '{scheme}' supports 'lab.cache_entries' up to {options.max_entries}, "
            f"not {options.cache_entries}.",
            *("lab", "cache_entries"),
        )


def _refuse_pipelines(scheme: Scheme, pipelines: int) -> None:
    most = scheme.limits.pipelines
    able = [each.name for each in registry.all_schemes() if pipelines <= each.limits.pipelines]
    raise MisfitError(
        f"The scheme '{scheme.name}' runs on switches of "
        f"{'1 pipeline' if most == 1 else f'at most {most} pipelines'}, but 'lab.pipelines' is "
        f"{pipelines}.\n  Schemes that run on {pipelines}: {', '.join(able) or 'none'}.",
        *("lab", "pipelines"),
    )


def of(spec: GenericRack) -> Scheme:
    """The scheme of a rack; raises `UsageError` if it does not exist or does not suit the rack."""
    scheme = registry.get(spec.scheme)
    check(scheme, spec.lab, spec.workload)
    return scheme
