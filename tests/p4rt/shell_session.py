"""Commands of an operator in p4runtime-shell; runs in the shell's own environment.

Arguments: which session, address, P4Info file, device config file. Prints a line for each finding,
and "send: PORT OP IP TAG" where the test has to send a packet into the switch.
"""

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeWriteException

PATIENCE_S = 120


def found(*what: object) -> None:
    print("found:", *what, flush=True)


def send(port: int, op: int, ip: int = 0, tag: int = 0) -> None:
    print("send:", port, op, ip, tag, flush=True)


def refused(what: str, call: Callable[[], object]) -> None:
    try:
        call()
    except P4RuntimeWriteException as error:
        found(what, "refused", str(error).replace("\n", " "))


def forward(port: int) -> Any:
    action = sh.Action("MyIngress.forward")
    action["port"] = str(port)
    return action


def tables() -> None:
    entry = sh.TableEntry("MyIngress.exact_table")(action="MyIngress.set_result")
    entry.match["h.probe.ip"] = "10.0.0.1"
    entry.match["h.probe.tag"] = "2"
    entry.action["result"] = "0x1234"
    entry.insert()
    for each in sh.TableEntry("MyIngress.exact_table").read():
        found(
            "entry", each.match["h.probe.ip"].exact.value.hex(), each.action["result"].value.hex()
        )
    refused("twice", entry.insert)
    route = sh.TableEntry("MyIngress.lpm_table")(action="MyIngress.forward")
    route.match["h.probe.ip"] = "10.0.0.0/8"
    route.action["port"] = "1"
    route.insert()
    default = sh.TableEntry("MyIngress.lpm_table")(action="MyIngress.forward", is_default=True)
    default.action["port"] = "2"
    default.modify()
    rule = sh.TableEntry("MyIngress.ternary_table")(action="MyIngress.set_result", priority=10)
    rule.match["h.probe.ip"] = "11.0.0.0&&&255.0.0.0"
    rule.match["h.probe.port"] = "5..10"
    rule.match["h.probe.tag"] = "7"
    rule.action["result"] = "0x77"
    rule.insert()
    for each in rule.read():
        lookup = each.match
        found(
            "rule",
            each.priority,
            lookup["h.probe.ip"].ternary.mask.hex(),
            lookup["h.probe.port"].range.high.hex(),
            lookup["h.probe.tag"].optional.value.hex(),
        )
    rule.action["result"] = "0x78"
    rule.modify()
    rule.delete()
    found("rules", len(list(sh.TableEntry("MyIngress.ternary_table").read())))


def counters_and_meters() -> None:
    counter = sh.CounterEntry("MyIngress.arrivals")
    counter.index = 1
    counter.packet_count = 7
    counter.byte_count = 70
    counter.modify()
    for cell in sh.CounterEntry("MyIngress.arrivals").read():
        if cell.packet_count:
            found("counter", cell.index, cell.packet_count, cell.byte_count)
    meter = sh.MeterEntry("MyIngress.rate")
    meter.index = 3
    meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 2, 3, 4
    meter.modify()
    for cell in meter.read():
        found("meter", cell.index, cell.cir, cell.cburst, cell.pir, cell.pburst)


def replication() -> None:
    group = sh.MulticastGroupEntry(3)
    group.add(1, 1).add(2, 1)
    group.insert()
    for each in group.read():
        found("group", [replica.egress_port for replica in each.replicas])
    session = sh.CloneSessionEntry(7)
    session.add(2, 1)
    session.packet_length_bytes = 64
    session.insert()
    for each in session.read():
        found("session", each.session_id, each.packet_length_bytes)


def selectors() -> None:
    entry = sh.TableEntry("MyIngress.balanced_table")
    entry.match["h.probe.op"] = "9"
    entry.oneshot = sh.Oneshot("MyIngress.balanced_table")
    entry.oneshot.add(forward(1), weight=1).add(forward(2), weight=2)
    entry.insert()
    for each in sh.TableEntry("MyIngress.balanced_table").read():
        found("oneshot", [action.weight for action in each.oneshot.actions])
    entry.delete()
    for number in (1, 2):
        member = sh.ActionProfileMember("MyIngress.balancer")(
            action="MyIngress.forward", member_id=number
        )
        member.action["port"] = str(number)
        member.insert()
    group = sh.ActionProfileGroup("MyIngress.balancer")(group_id=1)
    group.add(1, weight=1).add(2, weight=1)
    group.insert()
    for each in group.read():
        found("members", [member.member_id for member in each.members])
    entry = sh.TableEntry("MyIngress.balanced_table")(group_id=1)
    entry.match["h.probe.op"] = "9"
    entry.insert()


def packets_and_digests() -> None:
    digest = sh.DigestEntry("hot_t")
    digest.max_list_size = 1
    digest.ack_timeout_ns = 10**9
    digest.insert()
    lists = sh.DigestList()
    send(1, 2, 0x0A000001, 7)
    message = lists.digest_list_queue.get(timeout=PATIENCE_S)
    values = [member.bitstring.hex() for member in message.digest.data[0].struct.members]
    found("digest", *values)
    packets = sh.PacketIn()
    send(2, 4)
    message = packets.packet_in_queue.get(timeout=PATIENCE_S)
    found("packet", [each.value.hex() for each in message.packet.metadata])
    sh.PacketOut(payload=b"x" * 60, egress_port="1").send()


def roles(address: str) -> None:
    """Another client with another role. The process has only its stream from now on."""
    sh.teardown()
    sh.setup(device_id=1, grpc_addr=address, election_id=(0, 1), role_name="ops", verbose=False)
    entry = sh.TableEntry("MyIngress.lpm_table")(action="MyIngress.drop")
    entry.match["h.probe.ip"] = "12.0.0.0/8"
    entry.insert()
    found("role", len(list(sh.TableEntry("MyIngress.lpm_table").read())))


def flows() -> None:
    """Direct counters and meters, and idle timeouts."""
    entry = sh.TableEntry("MyIngress.flows")(action="MyIngress.mark")
    entry.match["h.probe.ip"] = "10.0.0.1"
    entry.action["result"] = "1"
    entry.meter_config.cir = 0
    entry.meter_config.cburst = 1
    entry.meter_config.pir = 0
    entry.meter_config.pburst = 2
    entry.counter_data.packet_count = 5
    entry.insert()
    for each in entry.read():
        found("flow", each.counter_data.packet_count, each.meter_config.pburst)
    counter = sh.DirectCounterEntry("MyIngress.flow_hits")
    counter.table_entry = entry
    for each in counter.read():
        found("hits", each.packet_count)
    meter = sh.DirectMeterEntry("MyIngress.flow_limit")
    meter.table_entry = entry
    meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 1, 2, 9
    meter.modify()
    for each in meter.read():
        found("limit", each.pburst)
    notifications = sh.IdleTimeoutNotification()
    entry.idle_timeout_ns = 1_000_000
    entry.modify()
    message = notifications.notification_queue.get(timeout=PATIENCE_S)
    idle = message.idle_timeout_notification.table_entry[0]
    found("idle", idle.match[0].exact.value.hex(), idle.idle_timeout_ns)
    _ = entry.time_since_last_hit  # makes read() request it
    for each in entry.read():
        found("since", each.time_since_last_hit.elapsed_ns >= 0)


def main() -> None:
    session, address, p4info, device_config = sys.argv[1:]
    sh.setup(
        device_id=1,
        grpc_addr=address,
        election_id=(0, 1),
        config=sh.FwdPipeConfig(p4info, device_config),
        verbose=False,
    )
    if session == "flows":
        flows()
        return
    tables()
    counters_and_meters()
    replication()
    selectors()
    packets_and_digests()
    roles(address)
    found("version", sh.APIVersion())


status = 0
try:
    main()
except BaseException:
    traceback.print_exc()
    status = 1
sys.stdout.flush()
sys.stderr.flush()
# The shell's threads for packets and digests never end.
os._exit(status)
