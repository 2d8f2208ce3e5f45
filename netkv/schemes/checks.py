"""Checks whether a scheme can run in a lab with a load, by the limits in its `Scheme`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv import roles
from netkv.errors import MisfitError
from netkv.schemes import multiget, registry
from netkv.schemes.options import SwitchCache

if TYPE_CHECKING:
    from netkv.lab.spec import LabSpec, WorkloadSpec
    from netkv.schemes.scheme import Scheme


def check(scheme: Scheme, lab: LabSpec, workload: WorkloadSpec) -> None:
    """Raises `MisfitError` if the scheme does not support the lab or the load."""
    if scheme.multigets:
        multiget.check(scheme.name, lab, workload)
    else:
        able = [each.name for each in registry.all_schemes() if each.multigets]
        multiget.check_single(scheme.name, able, workload)
    if scheme.one_switch and lab.topology.kind != "rack":
        raise MisfitError(
            f"The scheme '{scheme.name}' supports one switch only: 'lab.topology.kind' must be "
            f"'rack', not '{lab.topology.kind}'.",
            *("lab", "topology", "kind"),
        )
    roles.check("servers", scheme.server_role)
    roles.check("clients", scheme.client_role)
    options = scheme.options.of(lab)
    if isinstance(options, SwitchCache):
        _check_entries(scheme.name, options)
    if scheme.needs is not None:
        scheme.needs(lab)
    if lab.pipelines > scheme.max_pipelines:
        _refuse_pipelines(scheme, lab.pipelines)


def check_live(scheme: Scheme, lab: LabSpec) -> None:
    """Raises `MisfitError` if only the simulator can run the scheme in the lab."""
    if scheme.card is None:
        return
    limit = f"The scheme '{scheme.name}' has an FPGA card before each server. Live that needs"
    if lab.target != "engine":
        raise MisfitError(f"{limit} 'lab.target: engine', not '{lab.target}'.", "lab", "target")
    if lab.fabric != "udp":
        raise MisfitError(f"{limit} 'lab.fabric: udp', not '{lab.fabric}'.", "lab", "fabric")
    if lab.server_processes < lab.servers:
        raise MisfitError(
            f"{limit} a process for each server: 'lab.server_processes' must be at least "
            f"'lab.servers', which is {lab.servers}, not {lab.server_processes}.",
            *("lab", "server_processes"),
        )


def _check_entries(scheme: str, options: SwitchCache) -> None:
    """Raises `MisfitError` if the cache has no entries, or more than the switch has room for."""
    if options.cache_entries == 0:
        plain = [
            each.name
            for each in registry.all_schemes()
            if not issubclass(each.options, SwitchCache) and not each.multigets
        ]
        raise MisfitError(
            f"The scheme '{scheme}' needs 'lab.cache_entries' of at least 1.\n"
            f"  Schemes without a cache: {', '.join(plain) or 'none'}.",
            *("lab", "cache_entries"),
        )
    if options.cache_entries > options.max_entries:
        raise MisfitError(
            f"The scheme '{scheme}' supports 'lab.cache_entries' up to {options.max_entries}, "
            f"not {options.cache_entries}.",
            *("lab", "cache_entries"),
        )


def _refuse_pipelines(scheme: Scheme, pipelines: int) -> None:
    most = scheme.max_pipelines
    able = [each.name for each in registry.all_schemes() if pipelines <= each.max_pipelines]
    raise MisfitError(
        f"The scheme '{scheme.name}' runs on switches of "
        f"{'1 pipeline' if most == 1 else f'at most {most} pipelines'}, but 'lab.pipelines' is "
        f"{pipelines}.\n  Schemes that run on {pipelines}: {', '.join(able) or 'none'}.",
        *("lab", "pipelines"),
    )
