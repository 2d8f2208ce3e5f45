"""Debian's kernel in QEMU drives the client-side cache with its own virtio driver, over PCI."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fpga.guests import (
    GUEST,
    MAC,
    SERVER,
    Guest,
    Rig,
    await_answer,
    qemu,
    rig,
    skip_without_qemu,
)
from tests.fpga.memcached_compare import compare
from tests.fpga.memcached_load import Load
from tests.fpga.memcached_servers import PORT, Sockets, running

pytestmark = pytest.mark.live

SETTINGS = ("--idle-cycles", "2048", "--write", "lifetime=32", "--write", "mode=on")
UP = f"ip link set eth0 up && ip address add {GUEST}/24 dev eth0"
PING = f"ping -q -c 3 -W 20 {SERVER}"


class ConsoleLink:
    """To a server through the guest: `guest_client` there, its lines on the console."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._waiting: dict[int, list[bytes]] = {}
        guest.start(f"/guest_client {SERVER} {PORT}")

    def send(self, client: int, payload: bytes) -> None:
        self._guest.write(f"{client} {payload.hex()}")

    def receive(self, client: int) -> bytes:
        while not self._waiting.get(client):
            number, _, payload = self._guest.read().partition(" ")
            self._waiting.setdefault(int(number), []).append(bytes.fromhex(payload))
        return self._waiting[client].pop(0)

    def stream(self, text: bytes) -> bytes:
        raise NotImplementedError("the program has no TCP")

    def close(self) -> None:
        self._guest.write(".")
        self._guest.finish("guest_client")


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A card without a guest."""
    skip_without_qemu()
    with rig(tmp_path_factory.mktemp("rig"), *SETTINGS) as made:
        yield made


@pytest.fixture(scope="module")
def guest(around: Rig) -> Iterator[Guest]:
    """A guest whose interface is up."""
    client = around.socket.parent / "guest_client"
    source = Path(__file__).parent / "guest_client.c"
    subprocess.run(["cc", "-O1", "-static", "-o", client, source], check=True)
    with qemu(around.socket, around.guest_folder(), {"guest_client": client}) as made:
        made.run(UP)
        yield made


def test_guest_binds_its_own_driver(guest: Guest) -> None:
    device = guest.run("readlink /sys/class/net/eth0/device").strip()
    assert guest.run("readlink /sys/class/net/eth0/device/driver").strip().endswith("/virtio_net")
    assert "pci" in guest.run(f"readlink -f /sys/class/net/eth0/{device}")
    assert MAC in guest.run("cat /sys/class/net/eth0/address")
    features = guest.run("cat /sys/class/net/eth0/device/features").strip()
    assert features[32] == "1", "it is a device of virtio 1"


def test_pings_pass_in_both_directions(guest: Guest, around: Rig) -> None:
    for size in (56, 4000):
        assert " 0% packet loss" in guest.run(f"{PING} -s {size}")
        assert " 0% packet loss" in around.server(f"ping -q -c 3 -i 0.02 -W 20 -s {size} {GUEST}")


def test_client_gets_answers_of_the_cache(guest: Guest, around: Rig) -> None:
    before = around.registers()["hits.0"]
    link = ConsoleLink(guest)
    with running() as address:
        alone = Sockets(address)
        counts = compare(Load(3, 300, mix="emu"), link, alone)
        alone.close()
    link.close()
    assert counts.found > 20
    assert around.registers()["hits.0"] - before > counts.found / 2


def test_driver_is_loaded_again(guest: Guest, around: Rig) -> None:
    for _ in range(2):
        guest.run("rmmod virtio_net")
        assert "eth0" not in guest.run("ls /sys/class/net")
        guest.run(f"insmod /virtio_net.ko && {UP}")
        assert " 0% packet loss" in guest.run(PING)
    assert around.warnings() == []


def test_guest_starts_again_under_traffic(guest: Guest, around: Rig) -> None:
    flood = around.start_at_server(f"ping -q -i 0.003 -s 200 {GUEST}")
    try:
        # At once, as with the reset button. `reboot` would have Linux declare the queues broken
        # while it still polls them, and Linux 6.1.192 can then poll for ever (virtnet_poll).
        guest.restart("echo b > /proc/sysrq-trigger")
        guest.run(UP)
        await_answer(guest)
    finally:
        flood.terminate()
        flood.wait()
    await_answer(guest)
    assert " 0% packet loss" in guest.run(PING)
    assert around.warnings() == []
