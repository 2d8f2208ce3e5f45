"""The testbed of FarReach's paper, for the simulator."""

from netkv.model.profile import HostModel, LinkModel, Profile, ServerModel, constant
from netkv.model.tofino import TOFINO, TOFINO_CONTROL

PROFILES: dict[str, Profile] = {
    # FarReach, sections V-B and VI-A: 16 servers on RocksDB, 60,000 writes a second each: 16.7 us,
    # 12.7 of them in the store. About 100 us of latency at low load (Exp#2), most of it in the
    # server and its network stack. The difference between a read and a write is measured by
    # 'netkv bench rocksdb' with the published options (docs/internals/benchmarks.md):
    # a write of any record takes 5.2 us of a core, a read whose block is not in the block cache 8.2
    # (get), a read whose block is in it 3.8 (warm_get; the mean of hot records, 3.4, and of any,
    # 4.2). Each is the least 10th percentile of eight runs on two busy cores. The block cache of
    # the published evaluation has 1 GiB in blocks of 4 KiB: 262,144 blocks, each with one hot
    # record, since keys are in hashed order.
    "farreach-testbed": Profile(
        title="FarReach's testbed: Tofino, RocksDB at 60,000 requests/s a server",
        client=HostModel(cores=16, receive=constant(1), send=constant(1), queue=65_536),
        server=ServerModel(
            cores=1,
            receive=constant(2),
            send=constant(2),
            get=constant(15.7),
            warm_get=constant(11.3),
            warm_records=262_144,
            put=constant(12.7),
            delete=constant(12.7),
            queue=2048,
        ),
        client_link=LinkModel(bandwidth_gbps=40, delay=18, queue_kib=2048),
        server_link=LinkModel(bandwidth_gbps=40, delay=18, queue_kib=2048),
        switch_link=LinkModel(bandwidth_gbps=100, delay=0.3, queue_kib=8192),
        switch=TOFINO,
        control=TOFINO_CONTROL,
    ),
}
