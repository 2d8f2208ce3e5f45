"""Writes of table entries, default entries, and their direct counters and meters (section 9.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finsy.proto import p4r

from netkv import _engine
from netkv.p4rt import meters, translate
from netkv.p4rt.arbitration import Role
from netkv.p4rt.errors import Code, RpcError, invalid, not_found, unimplemented
from netkv.p4rt.pipeline import Pipeline
from netkv.p4rt.replicas import in_each_pipeline
from netkv.p4rt.schema import Table
from netkv.p4rt.write.kinds import DELETE, INSERT, MODIFY, UpdateType, only_modify

if TYPE_CHECKING:
    from netkv._engine import Action, Match


def table_entry(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.TableEntry) -> None:
    """Insert, modify or delete an entry, or modify the default entry."""
    table = pipeline.schema.tables.get(entry.table_id)
    what = f"table {table.name}"
    role.check_object(table.id, what)
    if entry.is_const:
        raise invalid(f"{what}: only the switch sets is_const; leave it out of an update")
    if entry.is_default_action:
        _default_entry(pipeline, table, kind, entry)
        return
    if table.constant and (kind != MODIFY or entry.HasField("action")):
        raise RpcError(
            Code.PERMISSION_DENIED,
            f"{what} has const entries; they are fixed by the program, and only their direct "
            "counters and meters can be modified (by a MODIFY without an action)",
        )
    matches = translate.matches_of(what, table.keys, entry.match)
    priority = translate.priority_of(table, entry)
    if kind == DELETE:
        in_each_pipeline(
            pipeline.switch,
            lambda at: pipeline.switch.delete_entry(table.id, matches, priority, pipeline=at),
        )
        pipeline.indirect.forget(table, matches, priority)
        return
    _check_extras(table, entry)
    if entry.HasField("action"):
        action = translate.action_of(pipeline.schema, table, entry.action)
        pipeline.indirect.check(table, matches, priority, entry.action)
    elif kind == INSERT:
        raise invalid(f"{what}: the entry has no action")
    else:
        action = _present_action(pipeline, table, matches, priority)
    content = (matches, action, priority)
    if _sets_direct_resources(table, kind, entry):
        # No packet may match the entry before its meter and counter are set.
        pipeline.switch.exclusively(lambda switch: _write(switch, table, kind, entry, content))
    else:
        _write(pipeline.switch, table, kind, entry, content)
    if entry.HasField("action"):
        pipeline.indirect.remember(table, matches, priority, entry.action)


def _write(
    switch: _engine.Switch,
    table: Table,
    kind: UpdateType,
    entry: p4r.TableEntry,
    content: tuple[list[Match], Action, int],
) -> None:
    matches, action, priority = content
    if not table.constant:
        write = switch.insert_entry if kind == INSERT else switch.modify_entry
        extras = (entry.metadata, entry.controller_metadata, entry.idle_timeout_ns)
        in_each_pipeline(
            switch,
            lambda at: write(table.id, matches, action, priority, *extras, pipeline=at),
        )
    # A MODIFY without a meter_config resets the meter; one without counter_data keeps the counter.
    if table.direct_meter is not None and (kind == MODIFY or entry.HasField("meter_config")):
        config = entry.meter_config if entry.HasField("meter_config") else None
        rates = meters.rates_of(f"table {table.name}", table.direct_meter, config)
        in_each_pipeline(
            switch,
            lambda at: switch.write_direct_meter(table.id, matches, priority, rates, pipeline=at),
        )
    if entry.HasField("counter_data"):
        counts = entry.counter_data
        switch.write_direct_counter(
            table.id, matches, priority, counts.packet_count, counts.byte_count
        )


def _sets_direct_resources(table: Table, kind: UpdateType, entry: p4r.TableEntry) -> bool:
    if entry.HasField("meter_config") or entry.HasField("counter_data"):
        return True
    return table.direct_meter is not None and kind == MODIFY


def _present_action(
    pipeline: Pipeline, table: Table, matches: list[Match], priority: int
) -> Action:
    """The current action of an entry, which a MODIFY without an action keeps."""
    found = pipeline.switch.read_entry(table.id, matches, priority)
    if found is None:
        raise not_found(f"table {table.name} has no such entry")
    return found["action"]


def _check_extras(table: Table, entry: p4r.TableEntry) -> None:
    """Checks the fields beside match, priority and action."""
    what = f"table {table.name}"
    if entry.HasField("time_since_last_hit"):
        raise invalid(f"{what}: only the switch sets time_since_last_hit; leave it out")
    if entry.idle_timeout_ns and not table.idle_timeout:
        raise invalid(f"{what} does not have support_timeout in the program; no entry can time out")
    if entry.idle_timeout_ns < 0:
        raise invalid(f"{what}: idle_timeout_ns is {entry.idle_timeout_ns}; expected 0 or more")
    if entry.idle_timeout_ns and table.constant:
        raise invalid(f"{what} has const entries, which do not time out")
    if entry.HasField("meter_counter_data"):
        raise unimplemented(f"{what}: meters do not count packets per colour")
    if entry.HasField("meter_config"):
        meters.rates_of(what, _meter_of(table), entry.meter_config)
    if entry.HasField("counter_data"):
        _check_counted(table)
        check_counts(what, entry.counter_data)


def _default_entry(
    pipeline: Pipeline, table: Table, kind: UpdateType, entry: p4r.TableEntry
) -> None:
    what = f"the default entry of table {table.name}"
    only_modify(kind, what)
    if entry.match or entry.priority:
        raise invalid(f"{what} has neither match nor priority")
    if entry.idle_timeout_ns or entry.HasField("time_since_last_hit"):
        raise invalid(f"{what} has no idle timeout")
    if table.constant_default:
        raise RpcError(Code.PERMISSION_DENIED, f"table {table.name} has a const default action")
    for name in ("counter_data", "meter_config", "meter_counter_data"):
        if entry.HasField(name):
            raise unimplemented(f"{what} has no direct counter and no direct meter: {name}")
    switch = pipeline.switch
    if not entry.HasField("action"):
        in_each_pipeline(switch, lambda at: switch.reset_default(table.id, pipeline=at))
        pipeline.default_metadata.pop(table.id, None)
        return
    if entry.action.WhichOneof("type") != "action":
        raise invalid(f"{what} must hold an action")
    call = translate.table_call_of(pipeline.schema, table, entry.action.action, default=True)
    in_each_pipeline(switch, lambda at: switch.set_default(table.id, *call, pipeline=at))
    pipeline.default_metadata[table.id] = (entry.metadata, entry.controller_metadata)


def direct_counter(
    pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.DirectCounterEntry
) -> None:
    """Set the direct counter of an entry."""
    table, matches, priority = _entry_of(
        pipeline, role, kind, entry.table_entry, "the direct counter"
    )
    _check_counted(table)
    check_counts(f"table {table.name}", entry.data)
    counts = (entry.data.packet_count, entry.data.byte_count)
    if not entry.HasField("data"):
        _present_action(pipeline, table, matches, priority)
        return
    pipeline.switch.write_direct_counter(table.id, matches, priority, *counts)


def direct_meter(
    pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.DirectMeterEntry
) -> None:
    """Configure the direct meter of an entry, or remove its configuration."""
    table, matches, priority = _entry_of(
        pipeline, role, kind, entry.table_entry, "the direct meter"
    )
    if entry.HasField("counter_data"):
        raise unimplemented(f"table {table.name}: meters do not count packets per colour")
    config = entry.config if entry.HasField("config") else None
    rates = meters.rates_of(f"table {table.name}", _meter_of(table), config)
    switch = pipeline.switch
    in_each_pipeline(
        switch,
        lambda at: switch.write_direct_meter(table.id, matches, priority, rates, pipeline=at),
    )


def _entry_of(
    pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.TableEntry, resource: str
) -> tuple[Table, list[Match], int]:
    """The entry whose direct counter or meter an update names."""
    table = pipeline.schema.tables.get(entry.table_id)
    what = f"table {table.name}"
    role.check_object(table.id, what)
    only_modify(kind, f"{resource} of {what}")
    if entry.is_default_action:
        raise unimplemented(f"{what}: the default entry has no direct counter and no direct meter")
    matches = translate.matches_of(what, table.keys, entry.match)
    return table, matches, translate.priority_of(table, entry)


def _check_counted(table: Table) -> None:
    if not table.direct_counter:
        raise invalid(f"table {table.name} has no direct counter")


def _meter_of(table: Table) -> meters.Type:
    if table.direct_meter is None:
        raise invalid(f"table {table.name} has no direct meter")
    return table.direct_meter


def check_counts(what: str, counts: p4r.CounterData) -> None:
    """Raises INVALID_ARGUMENT for a counter below 0."""
    if min(counts.packet_count, counts.byte_count) < 0:
        raise invalid(
            f"{what}: a counter cannot be negative; packet_count is {counts.packet_count} and "
            f"byte_count {counts.byte_count}"
        )
