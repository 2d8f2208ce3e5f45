"""Operations of clients that a test waits for, in racks with FarReach's servers and clients."""

from netkv.control.base import SECOND
from netkv.kits.write_back.record import Record
from netkv.model.messages import Message, Op, Status
from netkv.model.topology import Topology
from tests.schemes.farreach.farreach_hosts import AnswerChecker, ClientProcess, PendingRequest, Shim
from tests.schemes.virtual_rack import VirtualRack


class Operations(VirtualRack):
    """A rack with clients and servers."""

    topology: Topology
    """The hosts."""
    checker: AnswerChecker
    processes: dict[int, ClientProcess]
    shims: dict[int, Shim]

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
        reply = self.run_operation(client, Op.PUT, key, value).reply
        assert reply is not None, "the write got no answer"
        return reply

    def delete(self, client: int, key: bytes) -> Message:
        """The reply to a deletion, which must be answered."""
        reply = self.run_operation(client, Op.DELETE, key).reply
        assert reply is not None, "the deletion got no answer"
        return reply

    def store(self, key: bytes, value: bytes) -> None:
        """Put a record into the owner's store, without a write."""
        shim = self.shims[self.topology.owner(key).index]
        shim.store[key] = Record(key, 0, 0, 0, value)
        self.checker.written[key, value] = (0, 0)

    def violations(self) -> list[str]:
        """Read all known keys; return all violations so far."""
        for key in sorted(self.checker.known):
            client = 1 + self.random.randrange(len(self.processes))
            if self.run_operation(client, Op.GET, key).reply is None:
                self.checker.violations.append("a read without an answer")
        return self.checker.violations
