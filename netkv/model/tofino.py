"""A Tofino switch and its control channel, for profiles of testbeds."""

from netkv.model.profile import ControlModel, SwitchModel

# Tofino: 6.5 Tbit/s, more than 4 billion packets a second over all pipelines, below a microsecond
# (Jin et al., SOSP 2017, slide "Implementation"). Table updates: about 10,000 a second in batches
# of the driver (the order of magnitude of published controllers); from pipeline to pipeline a
# fraction of a millisecond, the time of the driver and of a write over PCIe.
TOFINO = SwitchModel(
    latency=0.8,
    packet_rate=4e9,
    queue_packets=20_000,
    recirculation_gbps=100,
    table_write_gap=200,
)
TOFINO_CONTROL = ControlModel(latency=50, rate=20_000)
