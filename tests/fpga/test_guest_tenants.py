"""Two guests behind one card: each has a virtio function and entries of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fpga.guests import (
    GUEST,
    SERVER,
    Guest,
    Rig,
    load_driver,
    rig,
    skip_without_uml,
    unload_driver,
    user_mode_linux,
    write_client,
)
from tests.fpga.memcached_servers import PORT
from tests.waiting import until

pytestmark = pytest.mark.live

OTHER_GUEST, OTHER_MAC = "10.9.0.4", "02:00:00:00:00:02"
# The design with four functions is built for other tests, too.
SETTINGS = ("--set functions=4", "--idle-cycles 2048", "--write lifetime=32", "--write mode=on")


class Tenants(NamedTuple):
    rig: Rig
    client: Path
    """The program of `write_client`."""
    guests: tuple[Guest, Guest]

    def hits(self) -> list[int]:
        found = self.rig.registers()
        return [found["hits.0"], found["hits.1"]]

    def ask(self, number: int) -> None:
        said = self.guests[number].run(f"python {self.client} {SERVER} {PORT}")
        assert "all answers are right" in said


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    skip_without_uml()
    folder = tmp_path_factory.mktemp("rig")
    other = folder / "other.socket"
    with rig(folder, *SETTINGS, f"--port fn1=vhost:{other}") as made:
        made.run(
            f"ip -n server neighbour add {OTHER_GUEST} lladdr {OTHER_MAC} dev card0 nud permanent"
        )
        with (
            user_mode_linux(made.socket, made.guest_folder()) as first,
            user_mode_linux(other, made.guest_folder()) as second,
        ):
            load_driver(first, GUEST)
            load_driver(second, OTHER_GUEST)
            yield Tenants(made, write_client(folder), (first, second))


def test_each_guest_gets_answers_of_its_own_entries(tenants: Tenants) -> None:
    for own, other in ((0, 1), (1, 0)):
        before = tenants.hits()

        # On a busy machine a reply may come too late to be stored, so that the next GET misses.
        def answered(own: int = own, before: list[int] = before) -> bool:
            tenants.ask(own)
            return tenants.hits()[own] - before[own] >= 15

        until(answered, "the card answers GETs")
        assert tenants.hits()[other] == before[other], "no answer from entries of the other guest"


def test_driver_of_one_guest_does_not_disturb_the_other(tenants: Tenants) -> None:
    first, second = tenants.guests
    second.start(f"ping -q -c 300 -i 0.01 -W 20 {SERVER}")
    for _ in range(3):
        unload_driver(first)
        load_driver(first, GUEST)
    assert " 0% packet loss" in second.finish("ping")
    tenants.ask(0)
    tenants.ask(1)


def test_crash_of_one_guest_does_not_disturb_the_other(tenants: Tenants) -> None:
    """The last test: it ends a guest."""
    first, second = tenants.guests
    second.start(f"ping -q -c 300 -i 0.01 -W 20 {SERVER}")
    first.kill()
    assert " 0% packet loss" in second.finish("ping")
    tenants.ask(1)
    with user_mode_linux(tenants.rig.socket, tenants.rig.guest_folder()) as again:
        load_driver(again, GUEST)
        Tenants(tenants.rig, tenants.client, (again, second)).ask(0)
