"""The testbed of the simulation in DistReach's paper, for the simulator."""

from netkv.model.profile import (
    ControlModel,
    HostModel,
    LinkModel,
    Profile,
    ServerModel,
    SwitchModel,
    constant,
)

PROFILES: dict[str, Profile] = {
    # FarReach, section VI-A, software simulation: bmv2 switches in Mininet on one machine. A
    # request that accesses a store takes 100 ms more there, so that the stores limit the
    # throughput, and a server has one thread. A switch takes about 1 ms for a request, that is, for
    # a request and its reply: 0.5 ms a packet, one after another. The other figures are chosen;
    # none of them limits.
    "distreach-mininet": Profile(
        title="DistReach's Mininet: bmv2 switches, 100 ms for each access to a store",
        client=HostModel(cores=16, receive=constant(20), send=constant(20), queue=65_536),
        server=ServerModel(
            cores=1,
            receive=constant(20),
            send=constant(20),
            get=constant(100_000),
            put=constant(100_000),
            delete=constant(100_000),
            queue=2048,
        ),
        client_link=LinkModel(bandwidth_gbps=10, delay=50, queue_kib=2048),
        server_link=LinkModel(bandwidth_gbps=10, delay=50, queue_kib=2048),
        switch_link=LinkModel(bandwidth_gbps=10, delay=50, queue_kib=8192),
        switch=SwitchModel(
            latency=500,
            packet_rate=2000,
            parallel=False,
            queue_packets=20_000,
            recirculation_gbps=10,
            table_write_gap=0,
        ),
        control=ControlModel(latency=1000, rate=2000),
    ),
}
