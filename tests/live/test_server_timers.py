"""Timers that a server requests when it starts fire in a live node, although no frame arrives.

DistCache's server is the example: it sends RESTARTED until the controller answers.
"""

from __future__ import annotations

import json

from netkv._engine import ServerNode
from netkv.model.messages import Op, decode, encode
from netkv.model.topology import server_ip
from tests.live.server_nodes import ServerHarness


def test_idle_servers_report_their_start_until_answered() -> None:
    """Both servers of the node do, and each has a timer of its own."""
    harness = ServerHarness(role="distcache", servers=2, partitions=[0, 1])
    node = ServerNode(json.dumps(harness.config))
    node.start(None)
    try:
        reports = [decode(harness.receive_frame()) for _ in range(6)]
        assert {it.message.op for it in reports} == {Op.RESTARTED}
        by_server = {it.source: it for it in reports}
        assert set(by_server) == {server_ip(0), server_ip(1)}
        assert len({it.message.request for it in reports}) <= 2, "copies have the same number"
        known = by_server.pop(server_ip(0))
        harness.send_frame(encode(known.message.reply(), destination=known.source))
        # Its reports that were sent before may be in the socket; those of the other one go on.
        sources = [server_ip(0)] * 3
        while server_ip(0) in sources[-3:]:
            assert len(sources) < 100, "an answered report is repeated"
            sources.append(decode(harness.receive_frame()).source)
    finally:
        node.stop()
        harness.close()
