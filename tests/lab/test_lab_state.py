"""A lab is ready only if all of its nodes run."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from netkv.live.state import Lab


@dataclass
class Node:
    name: str
    running: bool


def lab(state: str = "ready") -> Lab:
    return Lab("demo", state=state)


@pytest.mark.parametrize("name", ["switch", "servers-0", "controller", "coordinator", "card-0"])
def test_lab_with_a_stopped_node_is_degraded(name: str) -> None:
    node, other = Node(name, running=False), Node("client", running=True)
    found = lab()
    assert found.settle([node, other])
    assert (found.state, found.text) == ("degraded", f"The node '{name}' does not run.")
    assert not found.settle([node, other]), "nothing has changed"
    node.running = True
    assert found.settle([node, other])
    assert (found.state, found.text) == ("ready", "")


def test_all_stopped_nodes_are_named() -> None:
    found = lab()
    names = ["switch", "servers-0", "controller"]
    found.settle([Node(name, running=False) for name in names])
    assert found.text == "The nodes 'switch', 'servers-0' and 'controller' do not run."


@pytest.mark.parametrize("state", ["starting", "failed", "broken"])
def test_other_states_do_not_depend_on_stopped_nodes(state: str) -> None:
    found = lab(state)
    assert not found.settle([Node("switch", running=False)])
    assert found.state == state
