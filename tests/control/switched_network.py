"""A network of switches, each with its own control plane, and real servers.

Frames pass hop by hop without loss, and almost without delay. Every hop is recorded, so a test can
check the path of a frame and which node answered it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from netkv import _engine, resources
from netkv.control.base import (
    MILLISECOND,
    ControlPlane,
    Digest,
    Event,
    HostAction,
    Nanoseconds,
    Started,
)
from netkv.model import network as plans
from netkv.model.messages import Message, Op, decode, encode
from netkv.model.topology import SERVICE_IP, Topology
from tests.schemes.role_hosts import RoleHost
from tests.schemes.scripted_rack import CONTROLLER, Hop, ScriptedRack, Switch
from tests.schemes.virtual_rack import Network

INSTANT = Network(max_delay=2)


@cache
def bundle(program: str) -> bytes:
    """A program of `p4/`, or of a file without its suffix, compiled."""
    file = resources.programs().get(program, f"{program}.p4")
    return _engine.compile_p4(str(file), [str(resources.path("p4"))])


class SwitchedNetwork(ScriptedRack[Switch]):
    """A network whose switches run `program`, each with a control plane of type `control`.

    The servers have the role `role`.
    """

    net = channel = INSTANT
    pipeline_time = 1
    # Each control plane has numbers of its own.
    numbers_are_unique = False

    def __init__(
        self,
        network: plans.Network,
        program: bytes,
        control: Callable[[Topology], ControlPlane],
        role: str = "plain",
    ) -> None:
        self.set_up(network, lambda plan: Switch(plan, program), seed=0)
        self.controls = {plan.name: control(plan.topology) for plan in network.switches}
        self.hops: list[Hop] = []
        """All hops since the last `ask`."""
        self.digests: dict[str, int] = dict.fromkeys(self.switches, 0)
        self.replies: list[Message] = []
        self.catches = self._record
        self._role = role
        self.servers: dict[str, RoleHost[_engine.ServerRole]] = {}
        self.add_hosts()
        self.handle(Started())
        self.settle()

    def add_hosts(self) -> None:
        """Add the servers, and clients that record their replies."""
        count = len(self.topology.servers)
        for at in self.network.hosts:
            if at.is_server:
                server = _engine.ServerRole(self._role, at.host.index, count)
                self.servers[at.name] = RoleHost(self, at.name, server)
            else:
                self.hosts[at.name] = self._on_client

    def _record(self, hop: Hop) -> bool:
        self.hops.append(hop)
        return False

    def _on_client(self, frame: bytes) -> None:
        self.replies.append(decode(frame).message)

    def deadline(self) -> Nanoseconds | None:
        due = (control.deadline() for control in self.controls.values())
        return min((it for it in due if it is not None), default=None)

    def handle(self, event: Event) -> None:
        """Pass an event to the control plane of its switch, or to all."""
        if isinstance(event, Digest):
            self.digests[event.switch] += 1
        for name in self.controls:
            if getattr(event, "switch", "") in ("", name):
                self.handle_at(name, event)

    def handle_at(self, name: str, event: Event) -> None:
        """Pass an event to the control plane of a switch."""
        for action in self.controls[name].handle(self.now, event):
            if isinstance(action, HostAction):
                self.carry_out(action)
            else:
                self.carry_out(replace(action, switch=name))

    def owner(self, key: bytes) -> str:
        """The server of a key."""
        return f"server-{self.topology.owner(key).index}"

    def ask(self, client: str, message: Message) -> list[Message]:
        """Send a request of a client to the service; return the replies that it gets."""
        at = next(host for host in self.network.hosts if host.name == client)
        self.replies.clear()
        self.hops.clear()
        self.send(client, encode(message, at.host.ip, SERVICE_IP))
        self.settle()
        return list(self.replies)

    def path(self, op: Op) -> list[str]:
        """The switches that frames with this op passed since the last `ask`."""
        return [hop.to for hop in self.hops if hop.op is op and hop.to in self.switches]

    def packet_ins(self, op: Op) -> list[str]:
        """The switches whose controllers got a frame with this op since the last `ask`."""
        return [hop.source for hop in self.hops if hop.op is op and hop.to == CONTROLLER]

    def settle(self) -> None:
        """Deliver frames and run timers for 10 ms."""
        self.run(10 * MILLISECOND)

    def fail(self, switch: str) -> None:
        """A switch fails, and the others take other ways."""
        self.switches[switch].stop()
        self._reroute()

    def restart(self, switch: str) -> None:
        """A failed switch gets its tables and returns."""
        self.start_switch(self.switches[switch])
        self._reroute()

    def _reroute(self) -> None:
        self.reroute([name for name, switch in self.switches.items() if not switch.up])
        self.settle()
