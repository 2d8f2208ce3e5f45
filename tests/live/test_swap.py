"""`Switch.load` replaces the program of a switch that forwards frames between sockets."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from netkv._engine import Switch, SwitchNode, compile_source
from netkv.live.ports import free_ports
from tests.waiting import PATIENCE_S, until

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header frame_t {{ bit<48> dst; bit<48> src; bit<16> type; bit<32> number; }}
struct headers_t {{ frame_t frame; }}
struct metadata_t {{ }}
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    state start {{ p.extract(h.frame); transition accept; }}
}}
control Verify(inout headers_t h, inout metadata_t m) {{ apply {{ }} }}
control Compute(inout headers_t h, inout metadata_t m) {{ apply {{ }} }}
control In(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    apply {{ h.frame.dst = {stamp}; s.egress_spec = 2; }}
}}
control Out(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{ apply {{ }} }}
control Deparse(packet_out p, in headers_t h) {{ apply {{ p.emit(h.frame); }} }}
V1Switch(P(), Verify(), In(), Out(), Compute(), Deparse()) main;
"""
FRAMES = 12_000
WINDOW = 100
"""Most frames in flight: fewer than any buffer holds."""
SWAPS = 5


def bundle(stamp: int) -> bytes:
    return compile_source(f"stamp{stamp}.p4", PROGRAM.format(stamp=stamp))


@contextmanager
def wired(switch: Switch) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A running switch node with ports 1 and 2; yields the sockets of the host at each port."""
    hosts = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    for host in hosts:
        host.bind(("127.0.0.1", 0))
    own = free_ports(2)
    ports = [
        (number, f"127.0.0.1:{port}", f"127.0.0.1:{host.getsockname()[1]}")
        for number, port, host in zip((1, 2), own, hosts, strict=True)
    ]
    node = SwitchNode(switch, ports)
    node.start()
    try:
        for host, port in zip(hosts, own, strict=True):
            host.connect(("127.0.0.1", port))
            host.settimeout(PATIENCE_S)
        yield hosts[0], hosts[1]
    finally:
        node.stop()
        for host in hosts:
            host.close()


def test_swap_of_the_program_under_load_loses_no_frame() -> None:
    switch = Switch(bundle(1))
    bundles = [bundle(2 + swap) for swap in range(SWAPS)]
    window = threading.Semaphore(WINDOW)
    sent = 0
    swapped: list[tuple[int, int]] = []

    with wired(switch) as (sender, receiver):

        def send() -> None:
            nonlocal sent
            for number in range(FRAMES):
                if not window.acquire(timeout=PATIENCE_S):
                    return  # a frame is lost, and the receiver reports it
                if number == FRAMES - WINDOW:  # the last frames pass the last program
                    until(lambda: len(swapped) == SWAPS, "all programs have been loaded")
                # `sent` is set before the frame is sent, so frames from `sent` on are not sent yet.
                sent = number + 1
                sender.send(bytes(12) + b"\x08\x00" + number.to_bytes(4, "big"))

        def swap() -> None:
            for index, program in enumerate(bundles):
                while sent < (index + 1) * FRAMES // (SWAPS + 1):
                    time.sleep(0)
                switch.load(program)
                swapped.append((2 + index, sent))

        threads = [threading.Thread(target=each, daemon=True) for each in (send, swap)]
        for thread in threads:
            thread.start()
        stamps = []
        for number in range(FRAMES):
            frame = receiver.recv(100)
            assert int.from_bytes(frame[14:18], "big") == number, "lost, or out of order"
            stamps.append(int.from_bytes(frame[:6], "big"))
            window.release()
        for thread in threads:
            thread.join(PATIENCE_S)

    assert stamps == sorted(stamps)
    assert stamps[0] == 1
    assert stamps[-1] == 1 + SWAPS
    assert len(swapped) == SWAPS
    for stamp, first in swapped:
        assert all(found >= stamp for found in stamps[first:]), f"swap to {stamp} at {first}"
