"""The testbed of NetCache's paper, for the simulator."""

from netkv.model.profile import HostModel, LinkModel, Profile, ServerModel, constant
from netkv.model.tofino import TOFINO, TOFINO_CONTROL

PROFILES: dict[str, Profile] = {
    # NetCache, section 6.1 and slide "Implementation": 16 cores, 40 Gbit/s NIC with DPDK, TommyDS
    # in memory: 10 million requests a second (16 cores of 1.6 us each), 7 us latency. The part of
    # the 7 us that is not processor time is delay of NIC and cable, half on each side.
    "netcache-testbed": Profile(
        title="NetCache's testbed: Tofino, TommyDS in memory at 10 M requests/s, DPDK",
        client=HostModel(cores=16, receive=constant(0.2), send=constant(0.2), queue=65_536),
        server=ServerModel(
            cores=16,
            receive=constant(0.2),
            send=constant(0.2),
            get=constant(1.2),
            put=constant(1.2),
            delete=constant(1.2),
            queue=4096,
        ),
        # The paper adds up partitions that were measured one after the other, so its clients never
        # limit the rack. Here all servers run at once, so the clients' cables are faster.
        client_link=LinkModel(bandwidth_gbps=400, delay=1.3, queue_kib=65_536),
        server_link=LinkModel(bandwidth_gbps=40, delay=1.3, queue_kib=2048),
        switch_link=LinkModel(bandwidth_gbps=100, delay=0.3, queue_kib=8192),
        switch=TOFINO,
        control=TOFINO_CONTROL,
    ),
}
