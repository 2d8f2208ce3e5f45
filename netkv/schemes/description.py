"""The description of a scheme that `netkv scheme show` prints and programs read."""

from __future__ import annotations

from typing import Any

from netkv.model.nodes import Client, Coordinator, Servers
from netkv.model.option_rows import option_row
from netkv.schemes import registry
from netkv.schemes.scheme import Scheme


def describe(scheme: Scheme) -> dict[str, Any]:
    """The properties, limits and options of a scheme."""
    options = []
    for name, field in scheme.options.model_fields.items():
        row = option_row("lab", scheme.options, name)
        left_out = scheme.options.left_out.get(name)
        default = field.get_default(call_default_factory=True) if left_out is None else left_out
        options.append(
            {
                "option": f"lab.{name}",
                "type": row.type,
                "default": default,
                "unit": row.unit,
                "meaning": row.meaning,
            }
        )
    return {
        "name": scheme.name,
        "title": scheme.about.title,
        "summary": scheme.about.summary,
        "paper": scheme.about.paper,
        "package": registry.catalogue().packages.get(scheme.name),
        "program": scheme.programs.main,
        "other_programs": dict(scheme.programs.others),
        "server_role": scheme.role(Servers),
        "client_role": scheme.role(Client),
        "recovery_phases": list(scheme.recovery_phases),
        "limits": {
            "pipelines": scheme.limits.pipelines,
            "clients": scheme.limits.clients,
            "one_switch": scheme.limits.one_switch,
            "multigets": scheme.traits.multigets,
            "conditional_writes": scheme.traits.conditional_writes,
            "coordinator": scheme.has(Coordinator),
        },
        "topology": scheme.topology.model_dump(mode="json"),
        "options": options,
    }
