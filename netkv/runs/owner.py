"""The owner of a run: the process that writes it, identified by host, boot, pid and start time."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from netkv.processes import Identity, boot, identity


@dataclass(frozen=True)
class Owner:
    """A process of a host; a store on a database server has writers on several hosts."""

    host: str
    process: Identity

    @classmethod
    def this_process(cls) -> Owner:
        """The calling process."""
        process = identity(os.getpid())
        assert process is not None, "a process that runs is there"
        return cls(socket.gethostname(), process)

    @property
    def is_local(self) -> bool:
        """Whether it is a process of this boot of this host, which `is_alive` can check."""
        return self.host == socket.gethostname() and self.process.boot == boot()

    @property
    def is_alive(self) -> bool:
        """Whether it still runs. A process of another host counts as running."""
        return self.process.alive if self.is_local else self.host != socket.gethostname()
