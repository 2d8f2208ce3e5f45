"""Writes of counters, meters, registers, value sets and digests (sections 9.3, 9.4, 9.6 to 9.8)."""

from __future__ import annotations

from finsy.proto import p4r

from netkv.p4rt import meters, translate, values
from netkv.p4rt.arbitration import Role
from netkv.p4rt.errors import Code, RpcError, invalid, not_found, unimplemented
from netkv.p4rt.pipeline import Pipeline
from netkv.p4rt.replicas import in_each_pipeline
from netkv.p4rt.write.kinds import DELETE, INSERT, UpdateType, only_modify
from netkv.p4rt.write.tables import check_counts


def counter(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.CounterEntry) -> None:
    """Set one cell or all; without `data` nothing changes."""
    array = pipeline.schema.counters.get(entry.counter_id)
    what = f"counter {array.name}"
    role.check_object(array.id, what)
    only_modify(kind, what)
    index = translate.check_index(what, array.size, translate.index_of(entry))
    check_counts(what, entry.data)
    if entry.HasField("data"):
        counts = (entry.data.packet_count, entry.data.byte_count)
        pipeline.switch.write_counter(array.id, index, *counts)


def meter(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.MeterEntry) -> None:
    """Configure one cell or all; without `config` every packet is green again."""
    array = pipeline.schema.meters.get(entry.meter_id)
    what = f"meter {array.name}"
    role.check_object(array.id, what)
    only_modify(kind, what)
    index = translate.check_index(what, array.size, translate.index_of(entry))
    if entry.HasField("counter_data"):
        raise unimplemented(f"{what} does not count packets per colour; leave counter_data out")
    rates = meters.rates_of(what, array.type, entry.config if entry.HasField("config") else None)
    switch = pipeline.switch
    in_each_pipeline(switch, lambda at: switch.write_meter(array.id, index, rates, pipeline=at))


def register(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.RegisterEntry) -> None:
    """Write one cell or all."""
    array = pipeline.schema.registers.get(entry.register_id)
    what = f"register {array.name}"
    role.check_object(array.id, what)
    only_modify(kind, what)
    index = translate.check_index(what, array.size, translate.index_of(entry))
    if entry.data.WhichOneof("data") != "bitstring":
        raise invalid(f"{what} holds bit<{array.width}>; give its value as a bitstring")
    value = entry.data.bitstring
    values.decode(value, array.width, what)
    switch = pipeline.switch
    in_each_pipeline(switch, lambda at: switch.write_register(array.id, index, value, pipeline=at))


def value_set(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.ValueSetEntry) -> None:
    """Replace the members of a value set."""
    known = pipeline.schema.value_sets.get(entry.value_set_id)
    what = f"value set {known.name}"
    role.check_object(known.id, what)
    only_modify(kind, what)
    if len(entry.members) > known.size:
        raise RpcError(
            Code.RESOURCE_EXHAUSTED,
            f"{what} holds {known.size} members, the update has {len(entry.members)}",
        )
    members = [translate.matches_of(what, known.keys, each.match) for each in entry.members]
    seen: set[tuple[bytes, ...]] = set()
    for number, member in enumerate(members):
        normal = translate.normal(member)
        if normal in seen:
            raise RpcError(
                Code.ALREADY_EXISTS,
                f"{what}: member {number} of the update equals one before it; give each once",
            )
        seen.add(normal)
    switch = pipeline.switch
    in_each_pipeline(switch, lambda at: switch.set_value_set(known.id, members, pipeline=at))


def digest(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.DigestEntry) -> None:
    """Set or delete a digest's configuration; without one its digests are not sent."""
    known = pipeline.schema.digests.get(entry.digest_id)
    role.check_object(known.id, f"digest {known.name}")
    configs = pipeline.digest_configs
    if kind == INSERT and known.id in configs:
        raise RpcError(
            Code.ALREADY_EXISTS, f"digest {known.name} is configured already; use MODIFY"
        )
    if kind != INSERT and known.id not in configs:
        raise not_found(f"digest {known.name} is not configured; INSERT a configuration first")
    if kind == DELETE:
        del configs[known.id]
        return
    config = entry.config
    if min(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns) < 0:
        raise invalid(f"digest {known.name}: times and sizes cannot be negative")
    configs[known.id] = config
