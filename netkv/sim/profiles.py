"""Named profiles: testbeds whose figures are known, each with its source.

`this-machine` is measured by `netkv calibrate`; without that it is `a-cloud-machine`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from netkv.errors import NetkvError, UsageError, suggest
from netkv.lab import state
from netkv.lab.spec import LabSpec
from netkv.sim.models import (
    ControlModel,
    HostModel,
    LinkModel,
    Profile,
    ServerModel,
    StoreModel,
    SwitchModel,
    constant,
)

THIS_MACHINE = "this-machine"
FALLBACK = "a-cloud-machine"

# Tofino: 6.5 Tbit/s, more than 4 billion packets a second over all pipelines, below a microsecond
# (NetCache, slide "Implementation"). Table updates: about 10,000 a second through the driver's
# batches (FarReach and DistReach install entries at that order); from pipeline to pipeline a
# fraction of a millisecond, the time of a write over PCIe with what the driver does for it.
_TOFINO = SwitchModel(
    latency=0.8,
    packet_rate=4e9,
    queue_packets=20_000,
    recirculation_gbps=100,
    table_write_gap=200,
)
_TOFINO_CONTROL = ControlModel(latency=50, rate=20_000)

_PROFILES: dict[str, Profile] = {
    # NetCache, section 6.1 and slide "Implementation": 16 cores, 40 Gbit/s NIC with DPDK, TommyDS
    # in memory: 10 million requests a second (16 cores of 1.6 us each), 7 us latency. What the
    # processor does not explain of the 7 us is in NIC and cable, half on each side.
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
        # limit the rack; here all servers are there at once, and the clients' cables are as wide.
        client_link=LinkModel(bandwidth_gbps=400, delay=1.3, queue_kib=65_536),
        server_link=LinkModel(bandwidth_gbps=40, delay=1.3, queue_kib=2048),
        switch_link=LinkModel(bandwidth_gbps=100, delay=0.3, queue_kib=8192),
        switch=_TOFINO,
        control=_TOFINO_CONTROL,
    ),
    # FarReach, sections V-B and VI-A: 16 servers on RocksDB, 60,000 writes a second each: 16.7 us,
    # 12.7 of them in the store. About 100 us of latency at low load (Exp#2), most of it in the
    # server and its network stack. What a read takes more or less than a write is measured by
    # 'netkv bench rocksdb' with the options of the published evaluation (docs/performance.md): a
    # write of any record 5.2 us of a core, a read whose block is not in the block cache 8.2 (get),
    # a read whose block is there 3.8 (warm_get; the mean of hot records, 3.4, and of any, 4.2).
    # Each is the least 10th percentile of eight runs on two busy cores. The block cache of the
    # published evaluation has 1 GiB in blocks of 4 KiB: 262,144, each with one hot record, since
    # keys are in hashed order.
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
        switch=_TOFINO,
        control=_TOFINO_CONTROL,
    ),
    # NetMC, sections IV and V-A: nodes of 10 cores and a 100 Gbit/s NIC, stores in memory, VMA. A
    # packet through VMA's kernel bypass takes about a microsecond of a core, in or out (NVIDIA's
    # sockperf figures: 1.1 us one way, and 1 to 2 million small packets a second and core); a look
    # into a hash table that does not fit the caches takes 0.1 to 0.3 us (TommyDS's benchmark). What
    # a packet, a key and a byte cost is calibrated on two points of the paper
    # (docs/netmc-evaluation.md).
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
        switch=_TOFINO,
        control=_TOFINO_CONTROL,
        # Commands of all requests at hand go to a local redis-server in one batch: half a million
        # of them a second and core, and a little more than a key in memory for each of an MGET.
        backends={
            "redis": StoreModel(
                get=constant(1.6),
                next_get=constant(0.75),
                put=constant(1.6),
                delete=constant(1.6),
            )
        },
    ),
    # Two cores of a cloud machine that do everything: the live lab on loopback, as 'netkv
    # calibrate' measured it on the machine that netkv is developed on (medians of four times).
    # Cables are sockets: no bandwidth to speak of, and some microseconds to wake whoever waits.
    FALLBACK: Profile(
        title="A cloud machine with 2 cores that runs the live lab on loopback",
        client=HostModel(receive=constant(0.36), send=constant(0.36), queue=65_536),
        server=ServerModel(
            receive=constant(0.04),
            send=constant(0.04),
            get=constant(0.15),
            put=constant(0.45),
            delete=constant(0.3),
            queue=4096,
        ),
        client_link=LinkModel(bandwidth_gbps=40, delay=1.1, queue_kib=2048),
        server_link=LinkModel(bandwidth_gbps=40, delay=4.4, queue_kib=2048),
        switch_link=LinkModel(bandwidth_gbps=40, delay=2.8, queue_kib=2048),
        switch=SwitchModel(
            latency=6.5,
            packet_rate=3_700_000,
            parallel=False,
            queue_packets=4096,
            recirculation_gbps=10,
            table_write_gap=10,
        ),
        control=ControlModel(latency=190, rate=7_200),
        backends={
            "rocksdb": StoreModel(get=constant(1.5), put=constant(260), delete=constant(250)),
            "redis": StoreModel(get=constant(2.2), put=constant(300), delete=constant(250)),
        },
    ),
}


def names() -> tuple[str, ...]:
    """All names that `get` takes."""
    return (*_PROFILES, THIS_MACHINE)


def path() -> Path:
    """Where `netkv calibrate` keeps the profile of this machine."""
    return state.home() / "this-machine.json"


def get(name: str) -> Profile:
    """The profile of that name, or in the JSON file of that name.

    Raises `UsageError` that names those there are.
    """
    if name == THIS_MACHINE:
        return _read(path()) if is_measured() else _PROFILES[FALLBACK]
    if name.endswith(".json"):
        return _read(Path(name))
    try:
        return _PROFILES[name]
    except KeyError:
        raise UsageError(
            f"There is no profile '{name}'.\n  {suggest(name, names(), label='Profiles')}\n"
            f"  The name of a file ends in '.json' ('netkv calibrate --out')."
        ) from None


def of(lab: LabSpec) -> Profile:
    """The profile of a lab, with the figures that the lab changes.

    Raises `UsageError` for a profile that does not exist, and for a figure that it does not have.
    """
    profile = get(lab.profile)
    if not lab.profile_changes:
        return profile
    data = profile.model_dump(mode="json")
    figures = dict(_figures(data))
    for path, value in lab.profile_changes.items():
        if path not in figures:
            raise UsageError(
                f"'{path}' in 'lab.profile_changes' is no figure of the profile '{lab.profile}'.\n"
                f"  {suggest(path, figures, label='Figures')}"
            )
        figures[path][path.rpartition(".")[2]] = value
    try:
        return Profile.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"'lab.profile_changes' makes '{where}' of the profile '{lab.profile}' impossible: "
            f"{first['msg']}."
        ) from error


def _figures(data: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Paths of all numbers, each with the dictionary that holds it."""
    for name, value in data.items():
        if isinstance(value, dict):
            yield from _figures(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}{name}", data


def is_measured() -> bool:
    """Whether `this-machine` was measured here."""
    return path().is_file()


def check_destination(file: Path) -> None:
    """Raises `UsageError` if a profile in `file` could not be written, or not be read by name."""
    if file.suffix != ".json":
        raise UsageError(f"--out {file}: the name should end in '.json'.")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"--out {file}: there is no directory '{file.parent}'.")


def save(profile: Profile, file: Path | None = None) -> Path:
    """Keeps `profile` in `file`, or as that of this machine; returns where. Raises `NetkvError`."""
    file = file or path()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(profile.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise NetkvError(f"{file} cannot be written: {error.strerror or error}.") from error
    return file


def _read(file: Path) -> Profile:
    try:
        return Profile.model_validate(json.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(
            f"The profile {file} cannot be read: {error.strerror or error}."
        ) from error
    except (ValueError, ValidationError) as error:
        raise UsageError(
            f"{file} is no profile of this version ({error}). 'netkv calibrate' writes it anew."
        ) from error
