"""The driver with the servers and clients of write-back schemes, and operations that a test waits
for."""

from collections.abc import Callable

from netkv.control.base import SECOND
from netkv.kits.write_back.record import Record
from netkv.model.messages import Datagram, Message, Op, Status, decode, encode
from tests.schemes.scripted_rack import Hop, S, ScriptedRack
from tests.schemes.write_back_hosts import AnswerChecker, ClientProcess, PendingRequest, Shim


class WriteBackRack(ScriptedRack[S]):
    """A rack with clients and servers, whose answers are checked."""

    # After a restart, generations and incarnations tell late messages, not numbers.
    numbers_are_unique = False
    client_type: type[ClientProcess] = ClientProcess
    shim_type: type[Shim] = Shim

    def add_hosts(self) -> None:
        """Add all clients and servers of the network."""
        self.checker = AnswerChecker()
        self.processes = {
            host.index: self.new_process(host.index) for host in self.topology.clients
        }
        self.shims = {
            host.index: self.shim_type(
                host, self._from(f"server-{host.index}"), self.after, lambda: self.now
            )
            for host in self.topology.servers
        }
        for name in self.homes:
            kind, index = name.split("-")
            self.hosts[name] = self._receiver(kind, int(index))

    def new_process(self, index: int, first_request: int = 1) -> ClientProcess:
        """A client process."""
        send = self._from(f"client-{index}")
        return self.client_type(
            index, send, self.after, self.checker, first_request, now=lambda: self.now
        )

    def _from(self, host: str) -> Callable[[Datagram], None]:
        return lambda it: self.send(host, encode(it.message, it.source, it.destination))

    def _receiver(self, kind: str, index: int) -> Callable[[bytes], None]:
        if kind == "client":
            return lambda frame: self.processes[index].receive(decode(frame))
        return lambda frame: self.shims[index].receive(decode(frame))

    def on_left(self, cause: Hop, hop: Hop) -> None:
        """A write that a switch forwards or answers has a sequence."""
        left = hop.message
        answered = left.cache_hit and left.op in (Op.PUT_REPLY, Op.DELETE_REPLY)
        stamp = left.stamp
        if (left.op in (Op.PUT, Op.DELETE) or answered) and stamp is not None and stamp.number:
            request = cause.message
            if request.op in (Op.PUT, Op.DELETE):
                sequence = stamp.incarnation, stamp.number
                self.checker.record_sequence(request.key, request.value, sequence)

    # ------------------------------------------------------------------------ operations

    def run_operation(self, client: int, op: Op, key: bytes, value: bytes = b"") -> PendingRequest:
        """Begin an operation and run until it has ended."""
        pending = self.processes[client].begin(op, key, value)
        self.run_until(lambda: pending.ended, 10 * SECOND)
        return pending

    def get(self, client: int, key: bytes) -> bytes | None:
        """The value that a client reads; None if there is none."""
        reply = self.run_operation(client, Op.GET, key).reply
        assert reply is not None, "the read got no answer"
        return None if reply.status is Status.NOT_FOUND else reply.value

    def put(self, client: int, key: bytes, value: bytes) -> Message:
        """The reply to a write, which must be answered."""
        return self._written(client, Op.PUT, key, value)

    def delete(self, client: int, key: bytes) -> Message:
        """The reply to a deletion, which must be answered."""
        return self._written(client, Op.DELETE, key, b"")

    def _written(self, client: int, op: Op, key: bytes, value: bytes) -> Message:
        reply = self.run_operation(client, op, key, value).reply
        assert reply is not None, "the write got no answer"
        return reply

    def store(self, key: bytes, value: bytes) -> None:
        """Put a record into the owner's store, without a write."""
        self.shims[self.topology.owner(key).index].store[key] = Record(key, 0, 0, 0, value)
        self.checker.written[key, value] = (0, 0)

    def violations(self) -> list[str]:
        """Read all known keys; return all violations so far."""
        for key in sorted(self.checker.known):
            client = 1 + self.random.randrange(len(self.processes))
            if self.run_operation(client, Op.GET, key).reply is None:
                self.checker.violations.append("a read without an answer")
        return self.checker.violations
