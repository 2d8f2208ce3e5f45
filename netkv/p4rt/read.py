"""Read: entities of every kind, with wildcards (section 11).

An id of 0, an index that is left out, and a match that is left out mean all. `read` yields
entities; the server packs them into responses of `CHUNK` entities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from finsy.proto import p4d, p4r

from netkv import _engine
from netkv.p4rt import translate, values
from netkv.p4rt.errors import from_engine, invalid, unimplemented
from netkv.p4rt.pipeline import Pipeline
from netkv.p4rt.schema import Named, Objects, Table

if TYPE_CHECKING:
    from netkv._engine import TableEntry

CHUNK = 1000
"""Entities per response: a table of 100,000 entries is not one message."""

Object = TypeVar("Object", bound=Named)


def read(pipeline: Pipeline, wanted: p4r.Entity) -> Iterator[p4r.Entity]:
    """All entities that `wanted` means. Raises INVALID_ARGUMENT, NOT_FOUND or UNIMPLEMENTED."""
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
                raise unimplemented("direct meters cannot be configured and have nothing to read")
            case "extern_entry":
                raise unimplemented("v1model has no externs beyond those of P4Runtime itself")
            case _:
                raise invalid("the request asks for an entity without saying which kind")
    except _engine.ControlError as error:
        raise from_engine(error) from None


def _selected(objects: Objects[Object], number: int) -> Iterator[Object]:
    """The object with this id, or all of them for 0."""
    return iter((objects.get(number),)) if number else iter(objects)


def _table_entries(pipeline: Pipeline, wanted: p4r.TableEntry) -> Iterator[p4r.Entity]:
    for table in _selected(pipeline.schema.tables, wanted.table_id):
        if wanted.is_default_action:
            yield p4r.Entity(table_entry=_default_entry(pipeline, table))
            continue
        for entry in _matching(pipeline, table, wanted):
            message = _entry_message(table, entry)
            if wanted.HasField("counter_data") and entry["counter"] is not None:
                message.counter_data.CopyFrom(_counts(*entry["counter"]))
            yield p4r.Entity(table_entry=message)


def _matching(pipeline: Pipeline, table: Table, wanted: p4r.TableEntry) -> Iterator[TableEntry]:
    """Entries that agree with what the request fills in of match, priority and metadata."""
    key = None
    if wanted.match:
        if not wanted.table_id:
            raise invalid("a match without a table id means nothing; name the table")
        what = f"table {table.name}"
        key = _normal(translate.matches_of(what, table.keys, wanted.match))
    for entry in pipeline.switch.read_entries(table.id):
        if key is not None and _normal(entry["matches"]) != key:
            continue
        if wanted.priority and entry["priority"] != wanted.priority:
            continue
        if wanted.metadata and entry["metadata"] != wanted.metadata:
            continue
        if (
            wanted.controller_metadata
            and entry["controller_metadata"] != wanted.controller_metadata
        ):
            continue
        yield entry


def _normal(matches: list[_engine.Match]) -> list[bytes]:
    """A form in which equal matches are equal: canonical, without fields that match all."""
    return [each.SerializeToString() for each in translate.field_matches(matches)]


def _entry_message(table: Table, entry: TableEntry) -> p4r.TableEntry:
    return p4r.TableEntry(
        table_id=table.id,
        match=translate.field_matches(entry["matches"]),
        action=translate.table_action(entry["action"]),
        priority=entry["priority"],
        metadata=entry["metadata"],
        controller_metadata=entry["controller_metadata"],
        is_const=entry["is_const"],
    )


def _default_entry(pipeline: Pipeline, table: Table) -> p4r.TableEntry:
    action_id, params = pipeline.switch.get_default(table.id)
    return p4r.TableEntry(
        table_id=table.id,
        is_default_action=True,
        action=p4r.TableAction(action=translate.action_message(action_id, params)),
        is_const=table.constant_default,
    )


def _counts(packets: int, size: int) -> p4r.CounterData:
    return p4r.CounterData(packet_count=packets, byte_count=size)


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
    entry_wanted = wanted.table_entry
    for table in _selected(pipeline.schema.tables, entry_wanted.table_id):
        if not table.direct_counter:
            if entry_wanted.table_id:
                raise invalid(f"table {table.name} has no direct counter")
            continue
        for entry in _matching(pipeline, table, entry_wanted):
            message = _entry_message(table, entry)
            # The entry is named here, without its content.
            message.ClearField("action")
            counter = p4r.DirectCounterEntry(table_entry=message)
            if entry["counter"] is not None:
                counter.data.CopyFrom(_counts(*entry["counter"]))
            yield p4r.Entity(direct_counter_entry=counter)


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
    for meter in _selected(pipeline.schema.meters, wanted.meter_id):
        index = translate.check_index(f"meter {meter.name}", meter.size, translate.index_of(wanted))
        for cell, config in pipeline.switch.read_meter(meter.id, index):
            entry = p4r.MeterEntry(meter_id=meter.id, index=p4r.Index(index=cell))
            if config is not None:
                cir, cburst, pir, pburst = config
                entry.config.CopyFrom(
                    p4r.MeterConfig(cir=cir, cburst=cburst, pir=pir, pburst=pburst)
                )
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
        for group in pipeline.switch.read_action_groups(profile.id):
            if wanted.group_id in (0, group["group_id"]):
                yield p4r.Entity(
                    action_profile_group=p4r.ActionProfileGroup(
                        action_profile_id=profile.id,
                        group_id=group["group_id"],
                        max_size=group["max_size"],
                        members=(
                            p4r.ActionProfileGroup.Member(member_id=member, weight=weight)
                            for member, weight in group["members"]
                        ),
                    )
                )


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
