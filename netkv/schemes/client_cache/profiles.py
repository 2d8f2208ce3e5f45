"""The testbed of the client-side cache, for the simulator."""

from netkv.model.profile import (
    ControlModel,
    HostModel,
    LinkModel,
    Profile,
    ServerModel,
    SwitchModel,
)
from netkv.model.profile import constant as us

PROFILES: dict[str, Profile] = {
    # The paper, section IV: 1 Gbit/s, one client, one server, a switch that only forwards. It names
    # no times of software. They were measured on the machine where netkv is developed (`netkv bench
    # memcached`, docs/evaluation/memcached-live.json): 2.83 us of a core for a request of
    # memcached, 1.92 us for an echo, and 56.7 us for a request when no other is under way. The
    # client's core time is that of an echo. The rest is the way between network card and software,
    # which each request and each reply passes twice: 13 us each time, on both sides. Chosen: queues
    # and the delay of the cables. The card's bus is part of the design.
    "client-cache-testbed": Profile(
        title="1 Gbit/s, a client with an FPGA card, memcached on one core",
        client=HostModel(receive=us(0.96), send=us(0.96), queue=65_536),
        server=ServerModel(
            receive=us(0.96), send=us(0.96), get=us(0.91), put=us(0.91), delete=us(0.91), queue=4096
        ),
        client_link=LinkModel(bandwidth_gbps=1, delay=0.005, queue_kib=512),
        server_link=LinkModel(bandwidth_gbps=1, delay=0.005, queue_kib=512),
        switch_link=LinkModel(bandwidth_gbps=1, delay=0.005, queue_kib=512),
        host_delay=13.0,
        client_delay=13.0,
        switch=SwitchModel(latency=1, packet_rate=1e9, queue_packets=65_536),
        # As in LaKe's testbed; the program has no control plane to speak of.
        control=ControlModel(latency=20, rate=50_000),
    ),
}
