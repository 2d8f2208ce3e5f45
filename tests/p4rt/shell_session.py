"""What an operator types into p4runtime-shell; runs in the shell's own environment.

Arguments: address, P4Info file, device config file. Prints a line for each finding.
"""

import sys

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeWriteException

address, p4info, device_config = sys.argv[1:]
sh.setup(
    device_id=1,
    grpc_addr=address,
    election_id=(0, 1),
    config=sh.FwdPipeConfig(p4info, device_config),
)
try:
    entry = sh.TableEntry("MyIngress.exact_table")(action="MyIngress.set_result")
    entry.match["h.probe.ip"] = "10.0.0.1"
    entry.match["h.probe.tag"] = "2"
    entry.action["result"] = "0x1234"
    entry.insert()
    for found in sh.TableEntry("MyIngress.exact_table").read():
        print(
            "found: entry",
            found.match["h.probe.ip"].exact.value.hex(),
            found.action["result"].value.hex(),
        )
    route = sh.TableEntry("MyIngress.lpm_table")(action="MyIngress.forward")
    route.match["h.probe.ip"] = "10.0.0.0/8"
    route.action["port"] = "1"
    route.insert()
    default = sh.TableEntry("MyIngress.lpm_table")(action="MyIngress.forward", is_default=True)
    default.action["port"] = "2"
    default.modify()
    counter = sh.CounterEntry("MyIngress.arrivals")
    counter.index = 1
    counter.packet_count = 7
    counter.byte_count = 70
    counter.modify()
    for cell in sh.CounterEntry("MyIngress.arrivals").read():
        if cell.packet_count:
            print("found: counter", cell.index, cell.packet_count, cell.byte_count)
    group = sh.MulticastGroupEntry(3)
    group.add(1, 1).add(2, 1)
    group.insert()
    for found in group.read():
        print("found: group", [replica.egress_port for replica in found.replicas])
    try:
        entry.insert()
    except P4RuntimeWriteException as error:
        print("found: refused", str(error).replace("\n", " "))
finally:
    # Its stream has a thread that would keep the process alive.
    sh.teardown()
