"""Applies one update, by the kind of its entity."""

from __future__ import annotations

from finsy.proto import p4r

from netkv import _engine
from netkv.p4rt.arbitration import Role
from netkv.p4rt.errors import from_engine, invalid, unimplemented
from netkv.p4rt.pipeline import Pipeline
from netkv.p4rt.write import objects, profiles, replication, tables
from netkv.p4rt.write.kinds import DELETE, INSERT, MODIFY

UNRESTRICTED = Role("")


def apply(pipeline: Pipeline, update: p4r.Update, role: Role = UNRESTRICTED) -> None:
    """Apply one update for a role."""
    kind = update.type
    if kind not in (INSERT, MODIFY, DELETE):
        raise invalid("an update must be of type INSERT, MODIFY or DELETE")
    entity = pipeline.form.inward(update.entity)
    try:
        match entity.WhichOneof("entity"):
            case "table_entry":
                tables.table_entry(pipeline, role, kind, entity.table_entry)
            case "direct_counter_entry":
                tables.direct_counter(pipeline, role, kind, entity.direct_counter_entry)
            case "direct_meter_entry":
                tables.direct_meter(pipeline, role, kind, entity.direct_meter_entry)
            case "counter_entry":
                objects.counter(pipeline, role, kind, entity.counter_entry)
            case "meter_entry":
                objects.meter(pipeline, role, kind, entity.meter_entry)
            case "register_entry":
                objects.register(pipeline, role, kind, entity.register_entry)
            case "value_set_entry":
                objects.value_set(pipeline, role, kind, entity.value_set_entry)
            case "digest_entry":
                objects.digest(pipeline, role, kind, entity.digest_entry)
            case "action_profile_member":
                profiles.member(pipeline, role, kind, entity.action_profile_member)
            case "action_profile_group":
                profiles.group(pipeline, role, kind, entity.action_profile_group)
            case "packet_replication_engine_entry":
                role.check_replication()
                replication.replication(pipeline, kind, entity.packet_replication_engine_entry)
            case "extern_entry":
                raise unimplemented("v1model has no externs beyond those of P4Runtime itself")
            case _:
                raise invalid("the update has no entity")
    except _engine.ControlError as error:
        raise from_engine(error) from None
