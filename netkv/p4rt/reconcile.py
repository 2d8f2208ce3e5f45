"""RECONCILE_AND_COMMIT: the state of one program for another one (section 14).

The state that controllers wrote must fit the new program, by the ids of its P4Info: entries,
default actions, members, groups, replication, value sets, meters and digests. Registers and
counters that are the same in both keep their values; others start at 0. The old program processes
packets meanwhile; changes of registers and counters after the copy are lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from finsy.proto import p4r

from netkv.p4rt import read
from netkv.p4rt.errors import RpcError, invalid
from netkv.p4rt.pipeline import Pipeline
from netkv.p4rt.schema import Array, Objects
from netkv.p4rt.write.kinds import DELETE, INSERT, MODIFY
from netkv.p4rt.write.update import apply


def preserve(running: Pipeline, new: Pipeline) -> None:
    """Copy the state of a pipeline to one of another program, whose switch is idle.

    Raises INVALID_ARGUMENT if something does not fit.
    """
    for update in _removals(new):
        apply(new, update)
    for update in _insertions(running):
        try:
            apply(new, update)
        except RpcError as error:
            raise invalid(
                f"the state of the switch cannot be preserved for this program: {error}; use "
                "VERIFY_AND_COMMIT and write the state anew"
            ) from None
    _copy_arrays(running, new)


def _removals(new: Pipeline) -> Iterator[p4r.Update]:
    """Deletes the entries in the new program's source; those of the running one replace them."""
    for entity in list(read.read(new, p4r.Entity(table_entry=p4r.TableEntry()))):
        if not entity.table_entry.is_const:
            yield p4r.Update(type=DELETE, entity=entity)


def _insertions(running: Pipeline) -> Iterator[p4r.Update]:
    entries = p4r.TableEntry()
    entries.counter_data.SetInParent()
    entries.meter_config.SetInParent()
    multicast = p4r.PacketReplicationEngineEntry()
    multicast.multicast_group_entry.SetInParent()
    clones = p4r.PacketReplicationEngineEntry()
    clones.clone_session_entry.SetInParent()
    for wanted in (
        p4r.Entity(action_profile_member=p4r.ActionProfileMember()),
        p4r.Entity(action_profile_group=p4r.ActionProfileGroup()),
        p4r.Entity(table_entry=entries),
        p4r.Entity(packet_replication_engine_entry=multicast),
        p4r.Entity(packet_replication_engine_entry=clones),
        p4r.Entity(digest_entry=p4r.DigestEntry()),
    ):
        for entity in read.read(running, wanted):
            if not entity.table_entry.is_const:
                yield p4r.Update(type=INSERT, entity=entity)
    defaults = p4r.Entity(table_entry=p4r.TableEntry(is_default_action=True))
    for entity in read.read(running, defaults):
        if entity.table_entry.table_id in running.default_metadata:
            yield p4r.Update(type=MODIFY, entity=entity)
    for entity in read.read(running, p4r.Entity(value_set_entry=p4r.ValueSetEntry())):
        if entity.value_set_entry.members:
            yield p4r.Update(type=MODIFY, entity=entity)
    for entity in read.read(running, p4r.Entity(meter_entry=p4r.MeterEntry())):
        if entity.meter_entry.HasField("config"):
            yield p4r.Update(type=MODIFY, entity=entity)


def _copy_arrays(running: Pipeline, new: Pipeline) -> None:
    old, fresh = running.switch, new.switch
    for at in range(old.pipelines):
        for register in _in_both(running.schema.registers, new.schema.registers):
            for index, value in old.read_register(register.id, pipeline=at):
                if any(value):
                    fresh.write_register(register.id, index, value, pipeline=at)
        for counter in _in_both(running.schema.counters, new.schema.counters):
            for index, packets, size in old.read_counter(counter.id, pipeline=at):
                if packets or size:
                    fresh.write_counter(counter.id, index, packets, size, pipeline=at)


def _in_both(running: Objects[Array], new: Objects[Array]) -> Iterator[Array]:
    for array in running:
        if array.id in new and new.get(array.id) == array:
            yield array
