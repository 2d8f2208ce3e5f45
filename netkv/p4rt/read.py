"""Read: entities of every kind, with wildcards (section 13).

An id of 0, a missing index and a missing match select all. `read` yields entities; the server packs
them into responses of `CHUNK` entities. `existing` reads the entity that an update will change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, TypeVar

from finsy.proto import p4d, p4r

from netkv import _engine
from netkv.p4rt import meters, translate, values
from netkv.p4rt.arbitration import Role
from netkv.p4rt.errors import from_engine, invalid, not_found, unimplemented
from netkv.p4rt.pipeline import Pipeline
from netkv.p4rt.schema import Named, Objects, Table

if TYPE_CHECKING:
    from netkv._engine import TableEntry

CHUNK = 1000
"""Entities per response: a table of 100,000 entries would be too large for one message."""

MAX_COUNT = 2**63 - 1

Object = TypeVar("Object", bound=Named)


def read(pipeline: Pipeline, wanted: p4r.Entity, role: Role | None = None) -> Iterator[p4r.Entity]:
    """All entities that `wanted` selects and that belong to `role` (None: to any role).

    Raises INVALID_ARGUMENT, NOT_FOUND or UNIMPLEMENTED.
    """
    for entity in _read(pipeline, pipeline.form.inward(wanted)):
        if role is None or role.config is None or role.may_access(_object_of(entity)):
            yield pipeline.form.outward(entity)


def existing(pipeline: Pipeline, entity: p4r.Entity) -> Iterator[p4r.Entity]:
    """The current state of the entity that an update names, if it exists."""
    if entity.WhichOneof("entity") != "table_entry" or entity.table_entry.is_default_action:
        yield from read(pipeline, entity)
        return
    wanted = pipeline.form.inward(entity).table_entry
    table = pipeline.schema.tables.get(wanted.table_id)
    matches = translate.matches_of(f"table {table.name}", table.keys, wanted.match)
    priority = translate.priority_of(table, wanted)
    try:
        found = pipeline.switch.read_entry(table.id, matches, priority)
    except _engine.ControlError as error:
        raise from_engine(error) from None
    if found is not None:
        whole = p4r.TableEntry()
        whole.counter_data.SetInParent()
        whole.meter_config.SetInParent()
        message = _entry_message(pipeline, table, found, whole)
        yield pipeline.form.outward(p4r.Entity(table_entry=message))


def _object_of(entity: p4r.Entity) -> int:
    """P4Info id of the object that an entity belongs to; 0 for replication, which has none."""
    match entity.WhichOneof("entity"):
        case "table_entry":
            return entity.table_entry.table_id
        case "direct_counter_entry":
            return entity.direct_counter_entry.table_entry.table_id
        case "direct_meter_entry":
            return entity.direct_meter_entry.table_entry.table_id
        case "counter_entry":
            return entity.counter_entry.counter_id
        case "meter_entry":
            return entity.meter_entry.meter_id
        case "register_entry":
            return entity.register_entry.register_id
        case "action_profile_member":
            return entity.action_profile_member.action_profile_id
        case "action_profile_group":
            return entity.action_profile_group.action_profile_id
        case "value_set_entry":
            return entity.value_set_entry.value_set_id
        case "digest_entry":
            return entity.digest_entry.digest_id
    return 0


def _read(pipeline: Pipeline, wanted: p4r.Entity) -> Iterator[p4r.Entity]:
    try:
        match wanted.WhichOneof("entity"):
            case "table_entry":
                yield from _table_entries(pipeline, wanted.table_entry)
            case "counter_entry":
                yield from _counters(pipeline, wanted.counter_entry)
            case "direct_counter_entry":
                yield from _direct_counters(pipeline, wanted.direct_counter_entry)
            case "register_entry":
                yield from _registers(pipeline, wanted.register_entry)
            case "meter_entry":
                yield from _meters(pipeline, wanted.meter_entry)
            case "action_profile_member":
                yield from _members(pipeline, wanted.action_profile_member)
            case "action_profile_group":
                yield from _groups(pipeline, wanted.action_profile_group)
            case "packet_replication_engine_entry":
                yield from _replication(pipeline, wanted.packet_replication_engine_entry)
            case "value_set_entry":
                yield from _value_sets(pipeline, wanted.value_set_entry)
            case "digest_entry":
                yield from _digests(pipeline, wanted.digest_entry)
            case "direct_meter_entry":
                yield from _direct_meters(pipeline, wanted.direct_meter_entry)
            case "extern_entry":
                if wanted.extern_entry.extern_type_id:
                    raise unimplemented("v1model has no externs beyond those of P4Runtime itself")
            case _:
                raise invalid("the request does not name a kind of entity")
    except _engine.ControlError as error:
        raise from_engine(error) from None


def _selected(objects: Objects[Object], number: int) -> Iterator[Object]:
    """The object with this id, or all of them for 0."""
    return iter((objects.get(number),)) if number else iter(objects)


def _table_entries(pipeline: Pipeline, wanted: p4r.TableEntry) -> Iterator[p4r.Entity]:
    if wanted.HasField("meter_counter_data"):
        raise unimplemented("meters do not count packets per colour; leave meter_counter_data out")
    if wanted.HasField("time_since_last_hit") and wanted.table_id:
        table = pipeline.schema.tables.get(wanted.table_id)
        if not table.idle_timeout or wanted.is_default_action:
            raise invalid(
                f"table {table.name}: only entries of a table with support_timeout in the program "
                "have a time_since_last_hit"
            )
    for table in _selected(pipeline.schema.tables, wanted.table_id):
        if wanted.is_default_action:
            yield p4r.Entity(table_entry=_default_entry(pipeline, table))
            continue
        for entry in _matching(pipeline, table, wanted):
            yield p4r.Entity(table_entry=_entry_message(pipeline, table, entry, wanted))


def _matching(pipeline: Pipeline, table: Table, wanted: p4r.TableEntry) -> Iterator[TableEntry]:
    """Entries that agree with the fields that are set in the request.

    These are match, priority, metadata, and the id of the action in a direct table (section
    9.1.6). Parameters of the action do not count.
    """
    action = wanted.action.action.action_id
    for entry in _with_match(pipeline, table, wanted):
        if wanted.priority and entry["priority"] != wanted.priority:
            continue
        if wanted.metadata and entry["metadata"] != wanted.metadata:
            continue
        if (
            wanted.controller_metadata
            and entry["controller_metadata"] != wanted.controller_metadata
        ):
            continue
        if action and entry["action"][0] == "action" and entry["action"][1] != action:
            continue
        yield entry


def _with_match(pipeline: Pipeline, table: Table, wanted: p4r.TableEntry) -> Iterable[TableEntry]:
    """The entries with the match of the request; all of the table if it has none."""
    switch = pipeline.switch
    if not wanted.match:
        return switch.read_entries(table.id)
    if not wanted.table_id:
        raise invalid("a match needs a table id; name the table")
    matches = translate.matches_of(f"table {table.name}", table.keys, wanted.match)
    if wanted.priority or not table.has_priority:
        priority = wanted.priority if table.has_priority else 0
        found = switch.read_entry(table.id, matches, priority)
        return () if found is None else (found,)
    key = translate.normal(matches)
    entries = switch.read_entries(table.id)
    return (entry for entry in entries if translate.normal(entry["matches"]) == key)


def _entry_message(
    pipeline: Pipeline, table: Table, entry: TableEntry, wanted: p4r.TableEntry
) -> p4r.TableEntry:
    """An entry, with those of its direct resources and times that `wanted` has set."""
    matches, priority = entry["matches"], entry["priority"]
    written = pipeline.indirect.action(table, matches, priority) if table.profile else None
    message = p4r.TableEntry(
        table_id=table.id,
        match=translate.field_matches(matches),
        action=written or translate.table_action(entry["action"]),
        priority=priority,
        metadata=entry["metadata"],
        controller_metadata=entry["controller_metadata"],
        idle_timeout_ns=entry["idle_timeout_ns"],
        is_const=entry["is_const"],
    )
    if wanted.HasField("counter_data") and entry["counter"] is not None:
        message.counter_data.CopyFrom(_counts(*entry["counter"]))
    if wanted.HasField("meter_config") and entry["meter"] is not None:
        message.meter_config.CopyFrom(meters.config_of(entry["meter"]))
    if wanted.HasField("time_since_last_hit") and table.idle_timeout:
        message.time_since_last_hit.elapsed_ns = entry["elapsed_ns"]
    return message


def idle_message(pipeline: Pipeline, entry: TableEntry) -> p4r.TableEntry:
    """The message of a timed-out entry for a notification."""
    table = pipeline.schema.tables.get(entry["table_id"])
    message = _entry_message(pipeline, table, entry, p4r.TableEntry())
    return pipeline.form.outward(p4r.Entity(table_entry=message)).table_entry


def _default_entry(pipeline: Pipeline, table: Table) -> p4r.TableEntry:
    action_id, params = pipeline.switch.get_default(table.id)
    metadata, number = pipeline.default_metadata.get(table.id, (b"", 0))
    return p4r.TableEntry(
        table_id=table.id,
        is_default_action=True,
        action=p4r.TableAction(action=translate.action_message(action_id, params)),
        metadata=metadata,
        controller_metadata=number,
        is_const=table.constant_default,
    )


def _counts(packets: int, size: int) -> p4r.CounterData:
    # The engine's counters are unsigned 64-bit numbers, those of the message signed.
    return p4r.CounterData(packet_count=packets & MAX_COUNT, byte_count=size & MAX_COUNT)


def _counters(pipeline: Pipeline, wanted: p4r.CounterEntry) -> Iterator[p4r.Entity]:
    for counter in _selected(pipeline.schema.counters, wanted.counter_id):
        index = translate.check_index(
            f"counter {counter.name}", counter.size, translate.index_of(wanted)
        )
        for cell, packets, size in pipeline.switch.read_counter(counter.id, index):
            yield p4r.Entity(
                counter_entry=p4r.CounterEntry(
                    counter_id=counter.id,
                    index=p4r.Index(index=cell),
                    data=_counts(packets, size),
                )
            )


def _direct_counters(pipeline: Pipeline, wanted: p4r.DirectCounterEntry) -> Iterator[p4r.Entity]:
    for key, entry in _direct(pipeline, wanted.table_entry, "counter"):
        counter = p4r.DirectCounterEntry(table_entry=key)
        if entry["counter"] is not None:
            counter.data.CopyFrom(_counts(*entry["counter"]))
        yield p4r.Entity(direct_counter_entry=counter)


def _direct_meters(pipeline: Pipeline, wanted: p4r.DirectMeterEntry) -> Iterator[p4r.Entity]:
    if wanted.HasField("counter_data"):
        raise unimplemented("meters do not count packets per colour; leave counter_data out")
    for key, entry in _direct(pipeline, wanted.table_entry, "meter"):
        meter = p4r.DirectMeterEntry(table_entry=key)
        if entry["meter"] is not None:
            meter.config.CopyFrom(meters.config_of(entry["meter"]))
        yield p4r.Entity(direct_meter_entry=meter)


def _direct(
    pipeline: Pipeline, wanted: p4r.TableEntry, resource: Literal["counter", "meter"]
) -> Iterator[tuple[p4r.TableEntry, TableEntry]]:
    """Entries whose direct counter or meter is requested, each with the message that names it."""
    for table in _selected(pipeline.schema.tables, wanted.table_id):
        has = table.direct_counter if resource == "counter" else table.direct_meter is not None
        if not has:
            if wanted.table_id:
                raise invalid(f"table {table.name} has no direct {resource}")
            continue
        if wanted.is_default_action:
            raise unimplemented(f"the default entry of table {table.name} has no direct {resource}")
        found = False
        for entry in _matching(pipeline, table, wanted):
            found = True
            key = _entry_message(pipeline, table, entry, p4r.TableEntry())
            # The message only names the entry.
            key.ClearField("action")
            yield key, entry
        if wanted.match and not found:
            raise not_found(f"table {table.name} has no such entry")


def _registers(pipeline: Pipeline, wanted: p4r.RegisterEntry) -> Iterator[p4r.Entity]:
    for register in _selected(pipeline.schema.registers, wanted.register_id):
        index = translate.check_index(
            f"register {register.name}", register.size, translate.index_of(wanted)
        )
        for cell, value in pipeline.switch.read_register(register.id, index):
            yield p4r.Entity(
                register_entry=p4r.RegisterEntry(
                    register_id=register.id,
                    index=p4r.Index(index=cell),
                    data=p4d.P4Data(bitstring=values.canonical(value)),
                )
            )


def _meters(pipeline: Pipeline, wanted: p4r.MeterEntry) -> Iterator[p4r.Entity]:
    if wanted.HasField("counter_data"):
        raise unimplemented("meters do not count packets per colour; leave counter_data out")
    for meter in _selected(pipeline.schema.meters, wanted.meter_id):
        index = translate.check_index(f"meter {meter.name}", meter.size, translate.index_of(wanted))
        for cell, config in pipeline.switch.read_meter(meter.id, index):
            entry = p4r.MeterEntry(meter_id=meter.id, index=p4r.Index(index=cell))
            if config is not None:
                entry.config.CopyFrom(meters.config_of(config))
            yield p4r.Entity(meter_entry=entry)


def _members(pipeline: Pipeline, wanted: p4r.ActionProfileMember) -> Iterator[p4r.Entity]:
    for profile in _selected(pipeline.schema.profiles, wanted.action_profile_id):
        for member in pipeline.switch.read_action_members(profile.id):
            if wanted.member_id in (0, member["member_id"]):
                yield p4r.Entity(
                    action_profile_member=p4r.ActionProfileMember(
                        action_profile_id=profile.id,
                        member_id=member["member_id"],
                        action=translate.action_message(member["action_id"], member["params"]),
                    )
                )


def _groups(pipeline: Pipeline, wanted: p4r.ActionProfileGroup) -> Iterator[p4r.Entity]:
    for profile in _selected(pipeline.schema.profiles, wanted.action_profile_id):
        for (owner, number), group in list(pipeline.groups.items()):
            if owner == profile.id and wanted.group_id in (0, number):
                yield p4r.Entity(action_profile_group=group)


def _replication(
    pipeline: Pipeline, wanted: p4r.PacketReplicationEngineEntry
) -> Iterator[p4r.Entity]:
    match wanted.WhichOneof("type"):
        case "multicast_group_entry":
            number = wanted.multicast_group_entry.multicast_group_id
            for group in list(pipeline.multicast_groups.values()):
                if number in (0, group.multicast_group_id):
                    yield p4r.Entity(
                        packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
                            multicast_group_entry=group
                        )
                    )
        case "clone_session_entry":
            number = wanted.clone_session_entry.session_id
            for session in list(pipeline.clone_sessions.values()):
                if number in (0, session.session_id):
                    yield p4r.Entity(
                        packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
                            clone_session_entry=session
                        )
                    )
        case _:
            raise invalid("the replication entry is neither a multicast group nor a clone session")


def _value_sets(pipeline: Pipeline, wanted: p4r.ValueSetEntry) -> Iterator[p4r.Entity]:
    for value_set in _selected(pipeline.schema.value_sets, wanted.value_set_id):
        members = pipeline.switch.read_value_set(value_set.id)
        yield p4r.Entity(
            value_set_entry=p4r.ValueSetEntry(
                value_set_id=value_set.id,
                members=(
                    p4r.ValueSetMember(match=translate.field_matches(each)) for each in members
                ),
            )
        )


def _digests(pipeline: Pipeline, wanted: p4r.DigestEntry) -> Iterator[p4r.Entity]:
    for digest in _selected(pipeline.schema.digests, wanted.digest_id):
        config = pipeline.digest_configs.get(digest.id)
        if config is not None:
            yield p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=digest.id, config=config))
