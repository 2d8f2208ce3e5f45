"""The checkpoint of the controller: incarnation, client processes, and the snapshot in force."""

from collections.abc import Sequence

from netkv.control.saves import Saves
from netkv.kits.write_back.record import Record
from netkv.schemes.farreach.checkpoint_format import Client, State, to_bytes


class Checkpoint(Saves):
    """The state that the next controller needs."""

    def __init__(self) -> None:
        super().__init__(self._bytes)
        self.incarnation = 0
        """The latest incarnation that is saved or is being saved."""
        self.snapshot = 0
        """Number of the snapshot in force."""
        self.records: Sequence[Record] = ()
        """Records of the snapshot in force."""
        self.recovered = 0
        """The incarnation of the last recovery whose records the servers have."""
        self.clients: dict[int, bool] = {}
        """Address of each client process → whether it answered the last request."""

    def restore(self, state: State) -> None:
        """Begin with the saved state."""
        self.incarnation, self.recovered = state.incarnation, state.recovered
        self.snapshot, self.records = state.snapshot, state.records
        self.clients = dict(state.clients)

    def _bytes(self) -> bytes:
        clients = tuple(Client(*client) for client in self.clients.items())
        state = State(self.incarnation, self.recovered, self.snapshot, clients, tuple(self.records))
        return to_bytes(state)
