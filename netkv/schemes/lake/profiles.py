"""The testbed of LaKe's paper, for the simulator."""

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
    # LaKe, section IV-A: an Intel i7-4770 (4 cores) with memcached, a NetFPGA-SUME card with 10GbE,
    # and OSNT as a load generator, which costs no processor time. The FPGA itself is simulated
    # cycle by cycle and not part of this profile. What is neither from the paper nor calibrated is
    # chosen: queues, the delay of the cable, how a request's time is divided; for the way into the
    # card, the default of profiles.
    "lake-testbed": Profile(
        title="LaKe's testbed: NetFPGA-SUME before memcached on 4 cores, load from OSNT",
        client=HostModel(cores=1024, queue=65_536),
        # Calibrated on Table I: 0.962 million requests/s of 4 cores are 4.158 us each, ...
        server=ServerModel(
            cores=4,
            receive=us(1.3),
            send=us(1.3),
            get=us(1.558),
            put=us(1.558),
            delete=us(1.558),
            queue=4096,
        ),
        # The link of OSNT carries the load of all clients: it is the cable of the server below.
        client_link=LinkModel(bandwidth_gbps=400, delay=0, queue_kib=65_536),
        server_link=LinkModel(bandwidth_gbps=10, delay=0.005, queue_kib=512),
        switch_link=LinkModel(bandwidth_gbps=400, delay=0, queue_kib=8192),
        # ... and the rest of 238.84 us is the way between network card and memcached.
        host_delay=117.2,
        # The paper has no switch, so that of the rack takes no time.
        switch=SwitchModel(latency=0, packet_rate=1e12, queue_packets=65_536),
        control=ControlModel(latency=20, rate=50_000),
    ),
}
