"""Write: updates of every kind of entity (section 12), one error for each that fails.

`apply` does one update on a pipeline and raises `RpcError`. Nothing is changed by an update that
raises. In a switch of several pipelines an update is done in one after the other (replicas.py);
counters, whose sums are read, in all at once. Only CONTINUE_ON_ERROR is offered: the engine applies
updates one by one between packets.
"""

from __future__ import annotations

from typing import TypeAlias

from finsy.proto import p4r

from netkv import _engine
from netkv.p4rt import translate, values
from netkv.p4rt.arbitration import Role
from netkv.p4rt.errors import Code, RpcError, from_engine, invalid, not_found, unimplemented
from netkv.p4rt.pipeline import Pipeline
from netkv.p4rt.replicas import in_each_pipeline
from netkv.p4rt.schema import Profile, Table

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
UpdateType: TypeAlias = "p4r.Update.Type.ValueType"

_UNRESTRICTED = Role("")


def check_atomicity(atomicity: p4r.WriteRequest.Atomicity.ValueType) -> None:
    """Raises UNIMPLEMENTED for what needs a batch to happen as a whole."""
    if atomicity != p4r.WriteRequest.CONTINUE_ON_ERROR:
        raise unimplemented(
            f"{p4r.WriteRequest.Atomicity.Name(atomicity)} is not supported: updates are applied "
            "one by one between packets; use CONTINUE_ON_ERROR"
        )


def apply(pipeline: Pipeline, update: p4r.Update, role: Role = _UNRESTRICTED) -> None:
    """Do one update on behalf of a role."""
    kind = update.type
    if kind not in (INSERT, MODIFY, DELETE):
        raise invalid("an update must be of type INSERT, MODIFY or DELETE")
    entity = update.entity
    try:
        match entity.WhichOneof("entity"):
            case "table_entry":
                _table_entry(pipeline, role, kind, entity.table_entry)
            case "counter_entry":
                _counter(pipeline, role, kind, entity.counter_entry)
            case "direct_counter_entry":
                _direct_counter(pipeline, role, kind, entity.direct_counter_entry)
            case "register_entry":
                _register(pipeline, role, kind, entity.register_entry)
            case "meter_entry":
                _meter(pipeline, role, kind, entity.meter_entry)
            case "action_profile_member":
                _member(pipeline, role, kind, entity.action_profile_member)
            case "action_profile_group":
                _group(pipeline, role, kind, entity.action_profile_group)
            case "packet_replication_engine_entry":
                _replication(pipeline, kind, entity.packet_replication_engine_entry)
            case "value_set_entry":
                _value_set(pipeline, role, kind, entity.value_set_entry)
            case "digest_entry":
                _digest(pipeline, role, kind, entity.digest_entry)
            case "direct_meter_entry":
                raise unimplemented("direct meters cannot be configured; their colour is green")
            case "extern_entry":
                raise unimplemented("v1model has no externs beyond those of P4Runtime itself")
            case _:
                raise invalid("the update has no entity")
    except _engine.ControlError as error:
        raise from_engine(error) from None


def _only_modify(kind: UpdateType, what: str) -> None:
    if kind != MODIFY:
        raise invalid(f"{what} exists from the start and cannot be inserted or deleted; use MODIFY")


def _table_entry(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.TableEntry) -> None:
    table = pipeline.schema.tables.get(entry.table_id)
    role.check_object(table.id, f"table {table.name}")
    if entry.is_default_action:
        _default_action(pipeline, table, kind, entry)
        return
    if table.constant:
        raise RpcError(
            Code.PERMISSION_DENIED,
            f"table {table.name} has const entries; they are fixed by the program",
        )
    matches = translate.matches_of(f"table {table.name}", table.keys, entry.match)
    priority = translate.priority_of(table, entry)
    switch = pipeline.switch
    if kind == DELETE:
        in_each_pipeline(
            switch, lambda at: switch.delete_entry(table.id, matches, priority, pipeline=at)
        )
        return
    _check_extras(table, entry)
    action = translate.action_of(pipeline.schema, table, entry.action)
    write = switch.insert_entry if kind == INSERT else switch.modify_entry
    metadata, number = entry.metadata, entry.controller_metadata
    in_each_pipeline(
        switch,
        lambda at: write(table.id, matches, action, priority, metadata, number, pipeline=at),
    )
    if entry.HasField("counter_data"):
        counts = entry.counter_data
        switch.write_direct_counter(
            table.id, matches, priority, counts.packet_count, counts.byte_count
        )


def _check_extras(table: Table, entry: p4r.TableEntry) -> None:
    if entry.idle_timeout_ns:
        if not table.idle_timeout:
            raise invalid(f"table {table.name} does not have support_timeout in the program")
        raise unimplemented("entries do not age here; leave idle_timeout_ns at 0")
    if entry.HasField("meter_config"):
        raise unimplemented(f"table {table.name}: direct meters cannot be configured")
    if entry.HasField("counter_data") and not table.direct_counter:
        raise invalid(f"table {table.name} has no direct counter, the entry has counter_data")


def _default_action(
    pipeline: Pipeline, table: Table, kind: UpdateType, entry: p4r.TableEntry
) -> None:
    _only_modify(kind, f"the default entry of table {table.name}")
    if entry.match or entry.priority:
        raise invalid(f"the default entry of table {table.name} has neither match nor priority")
    if table.constant_default:
        raise RpcError(Code.PERMISSION_DENIED, f"table {table.name} has a const default action")
    _check_extras(table, entry)
    switch = pipeline.switch
    if not entry.HasField("action"):
        in_each_pipeline(switch, lambda at: switch.reset_default(table.id, pipeline=at))
        return
    if entry.action.WhichOneof("type") != "action":
        raise invalid(f"the default entry of table {table.name} must hold an action")
    call = translate.table_call_of(pipeline.schema, table, entry.action.action, default=True)
    in_each_pipeline(switch, lambda at: switch.set_default(table.id, *call, pipeline=at))


def _counter(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.CounterEntry) -> None:
    counter = pipeline.schema.counters.get(entry.counter_id)
    role.check_object(counter.id, f"counter {counter.name}")
    _only_modify(kind, f"counter {counter.name}")
    index = translate.check_index(
        f"counter {counter.name}", counter.size, translate.index_of(entry)
    )
    pipeline.switch.write_counter(counter.id, index, entry.data.packet_count, entry.data.byte_count)


def _direct_counter(
    pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.DirectCounterEntry
) -> None:
    table = pipeline.schema.tables.get(entry.table_entry.table_id)
    role.check_object(table.id, f"table {table.name}")
    _only_modify(kind, f"the direct counter of table {table.name}")
    if not table.direct_counter:
        raise invalid(f"table {table.name} has no direct counter")
    if entry.table_entry.is_default_action:
        raise unimplemented(f"table {table.name}: the default entry is not counted")
    matches = translate.matches_of(f"table {table.name}", table.keys, entry.table_entry.match)
    priority = translate.priority_of(table, entry.table_entry)
    pipeline.switch.write_direct_counter(
        table.id, matches, priority, entry.data.packet_count, entry.data.byte_count
    )


def _register(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.RegisterEntry) -> None:
    register = pipeline.schema.registers.get(entry.register_id)
    what = f"register {register.name}"
    role.check_object(register.id, what)
    _only_modify(kind, what)
    index = translate.check_index(what, register.size, translate.index_of(entry))
    if entry.data.WhichOneof("data") != "bitstring":
        raise invalid(f"{what} holds bit<{register.width}>; give its value as a bitstring")
    values.decode(entry.data.bitstring, register.width, what)
    value = entry.data.bitstring
    switch = pipeline.switch
    in_each_pipeline(
        switch, lambda at: switch.write_register(register.id, index, value, pipeline=at)
    )


def _meter(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.MeterEntry) -> None:
    meter = pipeline.schema.meters.get(entry.meter_id)
    what = f"meter {meter.name}"
    role.check_object(meter.id, what)
    _only_modify(kind, what)
    index = translate.check_index(what, meter.size, translate.index_of(entry))
    switch = pipeline.switch
    if not entry.HasField("config"):
        in_each_pipeline(switch, lambda at: switch.write_meter(meter.id, index, None, pipeline=at))
        return
    config = entry.config
    rates = (config.cir, config.cburst, config.pir, config.pburst)
    if min(rates) < 0:
        raise invalid(f"{what}: rates and bursts cannot be negative, they are {rates}")
    if config.eburst:
        raise invalid(f"{what} is a two-rate three-colour meter and has no eburst")
    in_each_pipeline(switch, lambda at: switch.write_meter(meter.id, index, rates, pipeline=at))


def _check_profile_action(
    pipeline: Pipeline, profile: Profile, action: p4r.Action
) -> tuple[int, list[bytes]]:
    """A member's action has to be one of the tables that share the profile."""
    call = translate.call_of(pipeline.schema, action)
    for number in profile.tables:
        translate.table_call_of(pipeline.schema, pipeline.schema.tables.get(number), action)
    return call


def _member(
    pipeline: Pipeline, role: Role, kind: UpdateType, member: p4r.ActionProfileMember
) -> None:
    profile = pipeline.schema.profiles.get(member.action_profile_id)
    role.check_object(profile.id, f"action profile {profile.name}")
    switch, number = pipeline.switch, member.member_id
    if kind == DELETE:
        in_each_pipeline(
            switch, lambda at: switch.delete_action_member(profile.id, number, pipeline=at)
        )
        return
    call = _check_profile_action(pipeline, profile, member.action)
    write = switch.insert_action_member if kind == INSERT else switch.modify_action_member
    in_each_pipeline(switch, lambda at: write(profile.id, number, *call, pipeline=at))


def _group(pipeline: Pipeline, role: Role, kind: UpdateType, group: p4r.ActionProfileGroup) -> None:
    profile = pipeline.schema.profiles.get(group.action_profile_id)
    role.check_object(profile.id, f"action profile {profile.name}")
    if not profile.with_selector:
        raise invalid(f"action profile {profile.name} has no selector and takes no groups")
    switch, number = pipeline.switch, group.group_id
    if kind == DELETE:
        in_each_pipeline(
            switch, lambda at: switch.delete_action_group(profile.id, number, pipeline=at)
        )
        return
    members: list[tuple[int, int]] = []
    for each in group.members:
        if each.WhichOneof("watch_kind") is not None:
            raise unimplemented("a watch port on a group member is not supported; leave it out")
        if each.weight <= 0:
            raise invalid(
                f"group {group.group_id} of {profile.name}: member {each.member_id} has weight "
                f"{each.weight}; expected at least 1"
            )
        members.append((each.member_id, each.weight))
    if 0 < group.max_size < len(members):
        raise invalid(
            f"group {group.group_id} of {profile.name} has {len(members)} members and max_size "
            f"{group.max_size}"
        )
    write = switch.insert_action_group if kind == INSERT else switch.modify_action_group
    in_each_pipeline(
        switch, lambda at: write(profile.id, number, members, group.max_size, pipeline=at)
    )


def _replication(
    pipeline: Pipeline, kind: UpdateType, entry: p4r.PacketReplicationEngineEntry
) -> None:
    match entry.WhichOneof("type"):
        case "multicast_group_entry":
            _multicast_group(pipeline, kind, entry.multicast_group_entry)
        case "clone_session_entry":
            _clone_session(pipeline, kind, entry.clone_session_entry)
        case _:
            raise invalid("the replication entry is neither a multicast group nor a clone session")


def _multicast_group(pipeline: Pipeline, kind: UpdateType, entry: p4r.MulticastGroupEntry) -> None:
    group = entry.multicast_group_id
    if not 1 <= group <= 0xFFFF:
        raise invalid(f"a multicast group id is 1 to 65535 (mcast_grp is 16 bits), not {group}")
    if kind == DELETE:
        pipeline.switch.delete_multicast_group(group)
        pipeline.multicast_groups.pop(group, None)
        return
    replicas = translate.replicas_of(f"multicast group {group}", entry.replicas)
    switch = pipeline.switch
    write = switch.insert_multicast_group if kind == INSERT else switch.modify_multicast_group
    write(group, replicas)
    pipeline.multicast_groups[group] = entry


def _clone_session(pipeline: Pipeline, kind: UpdateType, entry: p4r.CloneSessionEntry) -> None:
    session = entry.session_id
    if session == 0:
        raise invalid("a clone session id is 1 or more, not 0")
    if kind == DELETE:
        pipeline.switch.delete_clone_session(session)
        pipeline.clone_sessions.pop(session, None)
        return
    replicas = translate.replicas_of(f"clone session {session}", entry.replicas)
    if entry.packet_length_bytes < 0:
        raise invalid(f"clone session {session}: packet_length_bytes cannot be negative")
    switch = pipeline.switch
    write = switch.insert_clone_session if kind == INSERT else switch.modify_clone_session
    write(session, replicas, entry.class_of_service, entry.packet_length_bytes)
    pipeline.clone_sessions[session] = entry


def _value_set(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.ValueSetEntry) -> None:
    value_set = pipeline.schema.value_sets.get(entry.value_set_id)
    what = f"value set {value_set.name}"
    role.check_object(value_set.id, what)
    _only_modify(kind, what)
    if len(entry.members) > value_set.size:
        raise RpcError(
            Code.RESOURCE_EXHAUSTED,
            f"{what} holds {value_set.size} members, the update has {len(entry.members)}",
        )
    members = [translate.matches_of(what, value_set.keys, each.match) for each in entry.members]
    switch = pipeline.switch
    in_each_pipeline(switch, lambda at: switch.set_value_set(value_set.id, members, pipeline=at))


def _digest(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.DigestEntry) -> None:
    """Digests are sent only while they have a configuration."""
    digest = pipeline.schema.digests.get(entry.digest_id)
    role.check_object(digest.id, f"digest {digest.name}")
    configs = pipeline.digest_configs
    if kind == INSERT and digest.id in configs:
        raise RpcError(
            Code.ALREADY_EXISTS, f"digest {digest.name} is configured already; use MODIFY"
        )
    if kind != INSERT and digest.id not in configs:
        raise not_found(f"digest {digest.name} is not configured; INSERT a configuration first")
    if kind == DELETE:
        del configs[digest.id]
        return
    config = entry.config
    if min(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns) < 0:
        raise invalid(f"digest {digest.name}: times and sizes cannot be negative")
    configs[digest.id] = config
