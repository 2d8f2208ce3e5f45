"""Harm that earlier versions of DistCache's control plane did."""

from __future__ import annotations

from netkv.control.base import MILLISECOND
from netkv.model.messages import Op
from netkv.schemes.distcache.control_plane import DistCache
from tests.schemes.distcache.distcache_rack import CONFIGURATION, EDGE, NETWORK
from tests.schemes.distcache.test_distcache_traps import LEAF, SERVER, SPINE, rack_of
from tests.schemes.scripted_rack import CONTROLLER


def test_late_answer_of_a_failed_server_does_not_end_learning() -> None:
    """A server starts twice. Its first incarnation's answer to INSTALL arrives after the second
    has sent RESTARTED: the controller took the copy for installed and answered RESTARTED, and the
    second incarnation did not know the copy."""
    rack = rack_of(DistCache)
    rack.delay = lambda hop: (
        MILLISECOND if hop.to == CONTROLLER and hop.op is Op.INSTALL_REPLY else 0
    )
    rack.start_server(SERVER)
    rack.run(900_000)
    rack.lost = lambda hop: hop.to == SERVER and hop.op is Op.INSTALL
    rack.start_server(SERVER)
    rack.run(20 * MILLISECOND)


def test_new_controller_does_not_take_old_copies_for_gone() -> None:
    """A new controller is connected to a leaf only, so far; spine and edge run with the entries of
    the previous one. A server starts, and the controller, which has no records, answered RESTARTED
    at once."""
    rack = rack_of(DistCache)
    rack.kill_controller()
    rack.replace_controller(DistCache(NETWORK, *CONFIGURATION), LEAF)
    rack.run(10 * MILLISECOND)
    rack.start_server(SERVER)
    rack.run(50 * MILLISECOND)


def test_edge_and_spine_thought_lost_answer_no_old_value() -> None:
    """The controller loses its connections to an edge and to a spine, which run on. It sent
    EVICTED although the edge sends reads to the spine."""
    rack = rack_of(DistCache)
    rack.lose(EDGE)
    rack.lose(SPINE)
    rack.run(50 * MILLISECOND)
