"""User-Mode Linux drives the client-side cache with its own virtio driver.

The tests share a guest. Each leaves it with a driver that works.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.fpga.guests import (
    GUEST,
    MAC,
    SERVER,
    Guest,
    Rig,
    await_answer,
    load_driver,
    rig,
    skip_without_uml,
    unload_driver,
    up,
    user_mode_linux,
    write_client,
)
from tests.fpga.memcached_servers import PORT, command
from tests.waiting import until

pytestmark = pytest.mark.live

FRAMES = 66_000
"""More than a ring has indices."""
FRESH_SERVER = "10.9.0.3"
"""Address of a memcached that only one test uses: its answers depend on all operations so far."""
SETTINGS = ("--idle-cycles", "2048", "--write", "lifetime=32", "--write", "mode=on")
PING = f"ping -q -c 5 -i 0.02 -W 20 {SERVER}"

FLOOD = """\
import socket, sys
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.connect((sys.argv[1], 9))
left = int(sys.argv[2])
while left != 0:
    try:
        out.send(bytes(18))
        left -= 1
    except OSError:
        # The interface is not there, or nobody listens at the port.
        pass
"""
"""Datagrams to a port at which nobody listens; a negative number: without end."""


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A card without a guest."""
    skip_without_uml()
    folder = tmp_path_factory.mktemp("rig")
    with rig(folder, *SETTINGS) as made:
        (folder / "flood.py").write_text(FLOOD)
        write_client(folder)
        yield made


@pytest.fixture(scope="module")
def guest(around: Rig) -> Iterator[Guest]:
    """A guest whose interface is up."""
    with user_mode_linux(around.socket, around.guest_folder()) as made:
        load_driver(made, GUEST)
        yield made


def counts(guest: Guest, *names: str) -> list[int]:
    files = " ".join(f"/sys/class/net/eth0/statistics/{name}" for name in names)
    return [int(line) for line in guest.run(f"cat {files}").split()]


def at_rest(guest: Guest, around: Rig) -> tuple[dict[str, int], list[int]] | None:
    """The registers of the card, and what the guest has sent and received, between two frames."""
    before = counts(guest, "tx_packets", "rx_packets")
    registers = around.registers()
    return (registers, before) if counts(guest, "tx_packets", "rx_packets") == before else None


def check(guest: Guest, around: Rig) -> None:
    """The card and the driver work, and nothing was wrong on the way."""
    await_answer(guest)
    assert " 0% packet loss" in guest.run(PING)
    assert around.warnings() == []


def test_guest_binds_its_own_driver(guest: Guest) -> None:
    found = guest.run("ethtool -i eth0; cat /sys/class/net/eth0/address")
    assert "driver: virtio_net" in found
    assert MAC in found
    features = guest.run("cat /sys/bus/virtio/devices/virtio0/features").strip()
    assert features[32] == "1", "it is a device of virtio 1"


def test_pings_pass_in_both_directions(guest: Guest, around: Rig) -> None:
    for size in (0, 56, 1400, 4000):
        assert " 0% packet loss" in guest.run(f"{PING} -s {size}")
        words = f"ping -q -c 5 -i 0.02 -W 20 -s {size} {GUEST}"
        assert " 0% packet loss" in around.server(words)
    check(guest, around)


def test_client_gets_answers_of_the_cache(guest: Guest, around: Rig) -> None:
    before, asked = around.registers()["hits.0"], 0

    # On a busy machine a reply may come too late to be stored, so that the next GET misses.
    def answered() -> int:
        nonlocal asked
        said = guest.run(f"python {around.socket.parent}/client.py {SERVER} {PORT}")
        assert "all answers are right" in said
        asked += 1
        found = around.registers()["hits.0"] - before
        return found if found >= 15 else 0

    hits = until(answered, "the card answers GETs")
    served = around.server(
        f"bash -c 'exec 3<>/dev/tcp/{SERVER}/{PORT}; echo stats >&3; "
        f"while read -r line <&3; do [[ $line == END* ]] && break; "
        f"echo $line; done'"
    )
    gets = next(int(line.split()[2]) for line in served.splitlines() if "cmd_get" in line)
    # Of the client: 20 GETs in datagrams, and one over TCP.
    assert gets == 21 * asked - hits, "memcached has seen only the misses"


def test_answers_are_those_of_memcached_alone(guest: Guest, around: Rig) -> None:
    around.memcached(FRESH_SERVER)
    alone = " ".join(command("127.0.0.1", PORT))
    guest.run(f"{alone} </dev/null & server=$!")
    said = guest.run(
        "python -m tests.fpga.memcached_compare --streams --seed 5 --operations 10000 "
        f"--design {FRESH_SERVER}:{PORT} --alone 127.0.0.1:{PORT}"
    )
    guest.run("kill $server; wait $server", status=None)
    found = json.loads(said.splitlines()[-1])
    assert found["operations"] >= 10_000
    hits = around.registers()["hits.0"]
    assert hits > found["gets"] / 10, (hits, found)
    check(guest, around)


def test_driver_is_loaded_again_under_traffic(guest: Guest, around: Rig) -> None:
    folder = around.socket.parent
    flood = around.start_at_server(f"python {folder}/flood.py {GUEST} -1")
    guest.run(f"python {folder}/flood.py {SERVER} -1 & flood=$!")
    try:
        for _ in range(4):
            (before,) = counts(guest, "rx_packets")
            until(lambda: counts(guest, "rx_packets")[0] > before + 200, "frames come")  # noqa: B023
            unload_driver(guest)
            load_driver(guest, GUEST)
        for _ in range(4):
            guest.run(
                "cd /sys/bus/virtio/drivers/virtio_net; echo virtio0 >unbind; echo virtio0 >bind"
            )
            guest.run(up(GUEST))
            until(lambda: counts(guest, "rx_packets")[0] > 200, "frames come")
    finally:
        flood.kill()
        flood.wait()
        guest.run("kill $flood; wait $flood", status=None)
    check(guest, around)


def test_ring_indices_wrap(guest: Guest, around: Rig) -> None:
    """No frame is lost where they do: card and guest have counted the same ones."""
    folder = around.socket.parent
    before, (sent, received) = until(lambda: at_rest(guest, around), "no frame is on its way")

    def taken(name: str) -> int:
        return around.registers()[name] - before[name]

    guest.run(f"python {folder}/flood.py {SERVER} {FRAMES}")
    until(lambda: taken("sent.0") >= FRAMES, "all frames are sent")
    until(
        lambda: taken("tx_frames.0") == counts(guest, "tx_packets")[0] - sent,
        "the card has sent what the guest has sent",
    )
    flood = around.start_at_server(f"python {folder}/flood.py {GUEST} -1")
    try:
        until(lambda: counts(guest, "rx_packets")[0] > received + FRAMES, "the ring wraps")
    finally:
        flood.kill()
        flood.wait()
    await_answer(guest)
    until(
        lambda: taken("rx_frames.0") == counts(guest, "rx_packets")[0] - received,
        "the guest has received what the card has given it",
    )
    check(guest, around)


def test_another_guest_takes_the_card_after_a_crash(guest: Guest, around: Rig) -> None:
    """The last test: it ends the guest of the others."""
    folder = around.socket.parent
    flood = around.start_at_server(f"python {folder}/flood.py {GUEST} -1")
    try:
        for _ in range(2):
            guest.kill()
            guest = user_mode_linux(around.socket, around.guest_folder())
            load_driver(guest, GUEST)
            until(lambda: counts(guest, "rx_packets")[0] > 100, "frames come")  # noqa: B023
    finally:
        flood.kill()
        flood.wait()
    with guest:
        check(guest, around)
        said = guest.run(f"python {folder}/client.py {SERVER} {PORT}")
        assert "all answers are right" in said
