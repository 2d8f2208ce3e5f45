"""The testbed of NetMC's paper, for the simulator."""

from netkv.model.profile import HostModel, LinkModel, Profile, ServerModel, StoreModel, constant
from netkv.model.tofino import TOFINO, TOFINO_CONTROL

PROFILES: dict[str, Profile] = {
    # NetMC, sections IV and V-A: nodes of 10 cores and a 100 Gbit/s NIC, stores in memory, VMA. A
    # packet through VMA's kernel bypass takes about a microsecond of a core, in or out (NVIDIA's
    # sockperf figures: 1.1 us one way, and 1 to 2 million small packets a second and core); a look
    # into a hash table that does not fit the caches takes 0.1 to 0.3 us (TommyDS's benchmark). What
    # a packet, a key and a byte cost is calibrated on two points of the paper
    # (docs/schemes/netmc-evaluation.md).
    "netmc-testbed": Profile(
        title="NetMC's testbed: Tofino, stores in memory or Redis, VMA",
        client=HostModel(
            receive=constant(0.95), send=constant(0.95), per_key=0.1, per_byte=0.0005, queue=65_536
        ),
        coordinator=HostModel(
            receive=constant(0.81), send=constant(0.81), per_key=0.08, per_byte=0.0005, queue=65_536
        ),
        server=ServerModel(
            receive=constant(1.0),
            send=constant(1.0),
            per_key=0.1,
            per_byte=0.0005,
            get=constant(1.0),
            next_get=constant(0.7),
            put=constant(1.0),
            delete=constant(1.0),
            queue=65_536,
        ),
        client_link=LinkModel(bandwidth_gbps=100, delay=0.6, queue_kib=65_536),
        server_link=LinkModel(bandwidth_gbps=100, delay=0.6, queue_kib=8192),
        switch_link=LinkModel(bandwidth_gbps=100, delay=0.3, queue_kib=8192),
        switch=TOFINO,
        control=TOFINO_CONTROL,
        # The shim sends the commands of all queued requests to a local redis-server in one batch:
        # half a million commands a second and core. Each further key of an MGET costs a little more
        # than a key of the store in memory.
        backends={
            "redis": StoreModel(
                get=constant(1.6),
                next_get=constant(0.75),
                put=constant(1.6),
                delete=constant(1.6),
            )
        },
    ),
    # The same testbed with costs that come from elsewhere than the paper: the round figures of VMA
    # for a packet, the upper figure of TommyDS's benchmark for a key, and what redis-server takes
    # of a core where netkv is developed (records of 256 bytes, 32 commands at a time). A byte costs
    # a host nothing: its card moves it, up to the bandwidth of the cable.
    "netmc-sources": Profile(
        title="NetMC's testbed, with no cost calibrated on the paper",
        client=HostModel(receive=constant(1.0), send=constant(1.0), per_key=0.1, queue=65_536),
        coordinator=HostModel(receive=constant(1.0), send=constant(1.0), per_key=0.1, queue=65_536),
        server=ServerModel(
            receive=constant(1.0),
            send=constant(1.0),
            per_key=0.1,
            get=constant(0.3),
            put=constant(0.3),
            delete=constant(0.3),
            queue=65_536,
        ),
        client_link=LinkModel(bandwidth_gbps=100, delay=0.6, queue_kib=65_536),
        server_link=LinkModel(bandwidth_gbps=100, delay=0.6, queue_kib=8192),
        switch_link=LinkModel(bandwidth_gbps=100, delay=0.3, queue_kib=8192),
        switch=TOFINO,
        control=TOFINO_CONTROL,
        backends={
            "redis": StoreModel(
                get=constant(1.8),
                next_get=constant(1.4),
                put=constant(1.8),
                delete=constant(1.8),
            )
        },
    ),
}
