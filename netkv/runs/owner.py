"""The owner of a run: a process of a host, distinct from a later one of the same number."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from netkv.lab.state import Identity, identity


@dataclass(frozen=True)
class Owner:
    """A process of some host (a store on a database server has writers on several)."""

    host: str
    process: Identity

    @classmethod
    def this_process(cls) -> Owner:
        """The process that calls."""
        process = identity(os.getpid())
        assert process is not None, "a process that runs is there"
        return cls(socket.gethostname(), process)

    @property
    def is_local(self) -> bool:
        """Whether it is a process of this host, so that this process can see whether it runs."""
        return self.host == socket.gethostname()

    @property
    def is_alive(self) -> bool:
        """Whether it still runs. A process of another host counts as running."""
        return not self.is_local or self.process.alive
