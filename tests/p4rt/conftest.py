"""A switch that runs `everything.p4` behind a P4Runtime server, and finsy as its controller."""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import finsy
import pytest

from netkv import _engine
from netkv.model.topology import CPU_PORT
from netkv.p4rt import p4info
from netkv.p4rt.client import P4RuntimeClient
from netkv.p4rt.entities import Names
from netkv.p4rt.server import P4RuntimeServer
from tests.p4rt.shell import shell_python
from tests.waiting import PATIENCE_S

__all__ = ["shell_python"]

PROGRAM = Path(__file__).parent / "everything.p4"
PROBE_TYPE = 0x88B5


@pytest.fixture(scope="session")
def bundle() -> bytes:
    return _engine.compile_p4(str(PROGRAM))


@pytest.fixture(scope="session")
def names(bundle: bytes) -> Names:
    return Names(p4info.from_bundle(bundle))


@pytest.fixture
def switch(bundle: bytes) -> _engine.Switch:
    return _engine.Switch(bundle)


@pytest.fixture
async def server(switch: _engine.Switch) -> AsyncIterator[P4RuntimeServer]:
    """A server without a CPU port and without a pipeline."""
    server = P4RuntimeServer(switch)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def client(server: P4RuntimeServer, bundle: bytes) -> AsyncIterator[P4RuntimeClient]:
    """netkv's own client. It is primary and has committed the program."""
    async with P4RuntimeClient(server.address) as client:
        await client.set_pipeline(bundle)
        yield client


@pytest.fixture(scope="session")
def finsy_options(bundle: bytes, tmp_path_factory: pytest.TempPathFactory) -> finsy.SwitchOptions:
    folder = tmp_path_factory.mktemp("pipeline")
    info = folder / "everything.p4info.txtpb"
    info.write_text(p4info.to_text(p4info.from_bundle(bundle)))
    blob = folder / "everything.netkv"
    blob.write_bytes(bundle)
    return finsy.SwitchOptions(p4info=info, p4blob=blob)


@pytest.fixture
async def controller(
    server: P4RuntimeServer, finsy_options: finsy.SwitchOptions
) -> AsyncIterator[finsy.Switch]:
    """finsy. It is primary and has committed the program."""
    async with finsy.Switch("sw", server.address, finsy_options) as controller:
        yield controller


@dataclasses.dataclass
class Rack:
    """A switch with two ports on UDP sockets, and its server."""

    server: P4RuntimeServer
    node: _engine.SwitchNode
    hosts: list[socket.socket]
    ports: list[tuple[str, int]]

    def send(self, port: int, frame: bytes) -> None:
        """Send a frame into switch port 1 or 2."""
        self.hosts[port - 1].sendto(frame, self.ports[port - 1])

    def receive(self, port: int) -> bytes:
        """The next frame that leaves at switch port 1 or 2."""
        return self.hosts[port - 1].recv(2048)


def _free_socket() -> socket.socket:
    host = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    host.bind(("127.0.0.1", 0))
    host.settimeout(PATIENCE_S)
    return host


@pytest.fixture
def hosts() -> Iterator[list[socket.socket]]:
    hosts = [_free_socket(), _free_socket()]
    yield hosts
    for host in hosts:
        host.close()


@pytest.fixture
async def rack(switch: _engine.Switch, hosts: list[socket.socket]) -> AsyncIterator[Rack]:
    """A running switch node behind a server, without a pipeline."""
    reserved = [_free_socket(), _free_socket()]
    ports = [each.getsockname() for each in reserved]
    for each in reserved:
        each.close()
    node = _engine.SwitchNode(
        switch,
        [
            (number, f"127.0.0.1:{port[1]}", f"127.0.0.1:{host.getsockname()[1]}")
            for number, (port, host) in enumerate(zip(ports, hosts, strict=True), start=1)
        ],
        CPU_PORT,
    )
    node.start()
    server = P4RuntimeServer(switch, node)
    await server.start()
    yield Rack(server, node, hosts, ports)
    await server.stop()
    node.stop()


def probe(op: int = 0, ip: int = 0, port: int = 0, tag: int = 0) -> bytes:
    """A frame that `everything.p4` parses; the switch fills in its result field."""
    ethernet = bytes(12) + PROBE_TYPE.to_bytes(2, "big")
    fields = op.to_bytes(1, "big") + ip.to_bytes(4, "big") + port.to_bytes(2, "big")
    return ethernet + fields + tag.to_bytes(1, "big") + bytes(2) + b"payload"


def result_of(frame: bytes) -> int:
    """The result field of a probe."""
    return int.from_bytes(frame[22:24], "big")
