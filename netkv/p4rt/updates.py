"""Table writes of a control plane as P4Runtime updates, for both drivers."""

from __future__ import annotations

from finsy.proto import p4r

from netkv.control import base
from netkv.p4rt import entities

_INSTANCE = 0
"""Replication id of copies: programs distinguish them by their ports."""


def update(names: entities.Names, write: base.TableWrite) -> p4r.Update:
    """The update that carries `write` out; `names` are those of the switch's program."""
    match write:
        case base.InsertEntry():
            call = entities.Call(write.action, write.params)
            return entities.insert(
                names.table_entry(write.table, _matches(write), call, priority=write.priority)
            )
        case base.ModifyEntry():
            call = entities.Call(write.action, write.params)
            return entities.modify(
                names.table_entry(write.table, _matches(write), call, priority=write.priority)
            )
        case base.DeleteEntry():
            return entities.delete(
                names.table_entry(write.table, _matches(write), priority=write.priority)
            )
        case base.SetDefault():
            call = entities.Call(write.action, write.params)
            return entities.modify(names.default_entry(write.table, call))
        case base.CloneSession():
            return entities.insert(entities.clone_session(write.session, [(write.port, _INSTANCE)]))
        case base.MulticastGroup():
            replicas = [(port, _INSTANCE) for port in write.ports]
            return entities.insert(entities.multicast_group(write.group, replicas))


def _matches(
    write: base.InsertEntry | base.ModifyEntry | base.DeleteEntry,
) -> dict[str, entities.MatchValue]:
    return {
        name: entities.Range(value.low, value.high) if isinstance(value, base.Range) else value
        for name, value in write.match.items()
    }
