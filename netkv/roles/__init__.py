"""Roles written in Python: what servers and clients of a scheme do, for prototypes.

A scheme names a role `python:package.module:Class` (`Scheme.server_role`, `Scheme.client_role`).
The engine makes an object of the class in each place where it would make a role of its own: live in
the processes of servers and clients, and in the simulator. A role has no socket, no thread and no
clock. Times are integers: nanoseconds of the driver's clock, which does not run backwards.

    SingleKeyServer   decisions of a server of single keys; the engine does the rest (copies of
                      requests, the order of writes of a key, service rate)
    SingleKeyClient   decisions of clients of single keys; the engine has load, retries and history
    Server            a whole server, from frames and storage calls

Rules
-----
1. A method gets `out` and adds actions to it, which are carried out when the method has returned.
2. An exception ends the node (live) or the run (simulated) with a sentence that names class, method
   and error. The trace goes to the logger `netkv.roles`, and live to the log of the node.
3. The class is made anew when a server starts again: what it knew is lost, what the store has is
   there. Each server of a process has an object of its own, all clients of a process share one.
"""

from netkv.roles.interface import (
    Actions,
    RequestActions,
    Server,
    ServerActions,
    ServerOptions,
    SingleKeyClient,
    SingleKeyServer,
    Stored,
    Verdict,
    sequence_stamp,
)
from netkv.roles.loading import PREFIX, check, failure, load, log

__all__ = [
    "PREFIX",
    "Actions",
    "RequestActions",
    "Server",
    "ServerActions",
    "ServerOptions",
    "SingleKeyClient",
    "SingleKeyServer",
    "Stored",
    "Verdict",
    "check",
    "failure",
    "load",
    "log",
    "sequence_stamp",
]
