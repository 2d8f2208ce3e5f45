"""A network of engine switches, each with its control plane, and small servers.

Frames pass hop by hop through `Switch.process`, without loss or delay. Every hop is recorded, so a
test can check the path of a frame and which node answered it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from netkv import _engine, resources
from netkv.control.base import (
    MILLISECOND,
    Action,
    ControlPlane,
    DeleteEntry,
    Digest,
    Event,
    InsertEntry,
    ModifyEntry,
    Note,
    PacketIn,
    Range,
    SendFrame,
    SetDefault,
    Started,
    SwitchRestarted,
    TableWritten,
    Timer,
    TopologyChanged,
)
from netkv.model.messages import CacheMetadata, Message, Op, Status, decode, encode
from netkv.model.network import Network
from netkv.model.topology import CONTROLLER_IP, CPU_PORT, SERVICE_IP, Host, Topology
from netkv.p4rt import p4info
from netkv.p4rt.schema import Schema


@cache
def bundle(program: str) -> bytes:
    """A program of `p4/`, or of a file without its suffix, compiled."""
    file = resources.programs().get(program, f"{program}.p4")
    return _engine.compile_p4(str(file), [str(resources.path("p4"))])


@dataclass
class Server:
    """A storage server that answers every request at once."""

    host: Host
    send: Callable[[bytes], None]
    values: dict[bytes, bytes] = field(default_factory=dict)
    installing: dict[bytes, Message] = field(default_factory=dict)
    served: list[Message] = field(default_factory=list)
    answers: list[Message] = field(default_factory=list)  # of the switch and the controller
    _request: int = 0

    def receive(self, frame: bytes) -> None:
        """Handle a frame."""
        datagram = decode(frame)
        assert datagram.destination == self.host.ip
        message = datagram.message
        value = self.values.get(message.key, b"")
        if message.op % 2:
            self.answers.append(message)
            self._continue_install(message)
            return
        if message.op in (Op.GET, Op.PUT, Op.DELETE):
            self.served.append(message)
        if message.op is Op.PUT:
            self.values[message.key] = value = message.value
        if message.op is Op.INSTALL:
            self.installing[message.key] = message
            self.send_message(Op.INVALIDATE, message.key)
            return
        length = len(value) if message.op in (Op.GET, Op.ADMIT) else 0
        carried = value if message.op is Op.GET else b""
        reply = message.reply(length=length, value=carried)
        self.send(encode(reply, self.host.ip, datagram.source))
        if message.op is Op.PUT and message.cache_metadata is not None:
            self.send_message(Op.UPDATE, message.key, message.cache_metadata)

    def _continue_install(self, answer: Message) -> None:
        install = self.installing.get(answer.key)
        if install is None:
            return
        if answer.op is Op.INVALIDATE_REPLY and answer.cache_metadata is not None:
            self.send_message(Op.UPDATE, answer.key, answer.cache_metadata)
        elif answer.op is Op.UPDATE_REPLY:
            del self.installing[answer.key]
            self.send(encode(install.reply(status=answer.status), self.host.ip, CONTROLLER_IP))

    def send_message(self, op: Op, key: bytes, metadata: CacheMetadata | None = None) -> None:
        """Send a message to the switch or the controller."""
        self._request += 1
        value = self.values.get(key, b"") if op is Op.UPDATE else b""
        if op is Op.UPDATE and metadata is not None:
            value = value.ljust(16 * metadata.bitmap.bit_count(), b"\0")
        length = len(self.values.get(key, b"")) if op is Op.UPDATE else 0
        sender = 0x8000 + self.host.index
        message = Message(op, key, self._request, sender, Status.OK, metadata, length, value)
        to = CONTROLLER_IP if op is Op.OUTGROWN else SERVICE_IP
        self.send(encode(message, self.host.ip, to))


class SwitchedNetwork:
    """A network whose switches run `program`, each with a control plane of type `control`."""

    def __init__(
        self, network: Network, program: str, control: Callable[[Topology], ControlPlane]
    ) -> None:
        self.network = network
        self.now = 0
        self._program = bundle(program)
        self.schema = Schema(p4info.from_bundle(bundle(program)))
        self.peers = network.peers()
        self.switches = {plan.name: _engine.Switch(bundle(program)) for plan in network.switches}
        self.controls = {plan.name: control(plan.topology) for plan in network.switches}
        self.hosts = {(at.switch, at.host.port): at for at in network.hosts}
        self.hops: list[tuple[str, Message]] = []
        self.delivered: dict[str, list[bytes]] = {at.name: [] for at in network.hosts}
        self.packet_ins: dict[str, list[Message]] = {name: [] for name in self.switches}
        self.digests: dict[str, int] = dict.fromkeys(self.switches, 0)
        self.down: set[str] = set()
        self._frames: deque[tuple[str, int, bytes]] = deque()
        self.servers = {
            at.name: Server(at.host, self._sender(at.switch, at.host.port))
            for at in network.hosts
            if at.is_server
        }
        for name in self.controls:
            self.handle(name, Started())
        self.settle()

    def _sender(self, switch: str, port: int) -> Callable[[bytes], None]:
        return lambda frame: self._frames.append((switch, port, frame))

    def owner(self, key: bytes) -> Server:
        """The server of a key."""
        return self.servers[f"server-{self.network.switches[0].topology.owner(key).index}"]

    def ask(self, client: str, message: Message) -> list[Message]:
        """Send a request of a client to the service; return the replies that it gets."""
        at = next(host for host in self.network.hosts if host.name == client)
        self.delivered[client].clear()
        self.hops.clear()
        self._frames.append((at.switch, at.host.port, encode(message, at.host.ip, SERVICE_IP)))
        self.settle()
        replies = [decode(frame) for frame in self.delivered[client]]
        assert all(reply.destination == at.host.ip for reply in replies)
        return [reply.message for reply in replies]

    def path(self, op: Op) -> list[str]:
        """The switches that frames with this op passed since the last `ask`."""
        return [switch for switch, message in self.hops if message.op is op]

    def settle(self) -> None:
        """Deliver frames until no timer is due within 10 ms."""
        end = self.now + 10 * MILLISECOND
        while True:
            while self._frames:
                self._process(*self._frames.popleft())
            due = {name: control.deadline() for name, control in self.controls.items()}
            soon = [(at, name) for name, at in due.items() if at is not None and at <= end]
            if not soon:
                self.now = end
                return
            self.now = max(self.now, min(soon)[0])
            self.handle(min(soon)[1], Timer())

    def handle(self, switch: str, event: Event) -> None:
        """Pass an event to the control plane of a switch."""
        for action in self.controls[switch].handle(self.now, event):
            self._carry_out(switch, action)

    def fail(self, switch: str) -> None:
        """A switch fails, and the others take other ways."""
        self.down.add(switch)
        self._reroute()

    def restart(self, switch: str) -> None:
        """A failed switch gets its tables and returns."""
        self.switches[switch] = _engine.Switch(self._program)
        self.down.discard(switch)
        self.handle(switch, SwitchRestarted())
        self._reroute()

    # ------------------------------------------------------------------------ helpers

    def _reroute(self) -> None:
        for plan in self.network.without(self.down).switches:
            if plan.name not in self.down:
                self.handle(plan.name, TopologyChanged(plan.topology))
        self.settle()

    def _process(self, switch: str, port: int, frame: bytes) -> None:
        if switch in self.down:
            return
        self.hops.append((switch, decode(frame[2:] if port == CPU_PORT else frame).message))
        for egress, out in self.switches[switch].process(port, frame):
            if egress == CPU_PORT:
                self.packet_ins[switch].append(decode(out[2:]).message)
                self.handle(switch, PacketIn(int.from_bytes(out[:2]) >> 7, out[2:]))
            elif (switch, egress) in self.peers:
                self._frames.append((*self.peers[switch, egress], out))
            else:
                host = self.hosts[switch, egress]
                self.delivered[host.name].append(out)
                if host.is_server:
                    self.servers[host.name].receive(out)
        for number, values in self.switches[switch].take_digests():
            self.digests[switch] += 1
            digest = self.schema.digests.get(number)
            names = [member.name for member in digest.members]
            members = dict(zip(names, map(int.from_bytes, values), strict=True))
            self.handle(switch, Digest(digest.name, members))

    def _carry_out(self, switch: str, action: Action) -> None:
        engine = self.switches[switch]
        match action:
            case SendFrame(frame, egress):
                self._frames.append((switch, CPU_PORT, (egress << 7).to_bytes(2) + frame))
            case InsertEntry(write, table, _, name, params, priority) | ModifyEntry(
                write, table, _, name, params, priority
            ):
                call = ("action", *self._call(name, params))
                known = self.schema.tables.named(table)
                is_new = isinstance(action, InsertEntry)
                carry_out = engine.insert_entry if is_new else engine.modify_entry
                carry_out(known.id, self._matches(action), call, priority)  # type: ignore[arg-type]
                self.handle(switch, TableWritten(write, True))
            case DeleteEntry(write, table, _, priority):
                known = self.schema.tables.named(table)
                engine.delete_entry(known.id, self._matches(action), priority)
                self.handle(switch, TableWritten(write, True))
            case SetDefault(write, table, name, params):
                engine.set_default(self.schema.tables.named(table).id, *self._call(name, params))
                self.handle(switch, TableWritten(write, True))
            case Note(what):
                assert "refused" not in what

    def _call(self, name: str, params: object) -> tuple[int, list[bytes]]:
        assert isinstance(params, dict)
        action = self.schema.actions.named(name)
        return action.id, [params[each.name].to_bytes(16) for each in action.params]

    def _matches(self, write: InsertEntry | ModifyEntry | DeleteEntry) -> list[_engine.Match]:
        table = self.schema.tables.named(write.table)
        matches: list[_engine.Match] = []
        for name, value in write.match.items():
            key = table.key(name).id
            if isinstance(value, Range):
                matches.append((key, "range", value.low.to_bytes(16), value.high.to_bytes(16)))
            else:
                matches.append((key, "exact", value.to_bytes(16)))
        return matches
