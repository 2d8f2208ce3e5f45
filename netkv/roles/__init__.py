"""Protocol roles of servers and clients written in Python, for prototypes of schemes.

A scheme names a role `python:package.module:Class` (`Scheme.server_role`, `Scheme.client_role`).
The engine creates objects of the class where it would create one of its own roles: live in the
processes of servers and clients, and in the simulator. A role has no socket, no thread and no
clock. Times are integers: nanoseconds of the driver's clock, which is monotonic.

    SingleKeyServer   decisions of a server of single keys; the engine does the rest (copies of
                      requests, the order of writes of a key, service rate)
    SingleKeyClient   decisions of clients of single keys; the engine has load, retries and history
    Server            a whole server, from frames and storage calls

Rules
-----
1. A method adds actions to `out`, which are carried out when the method has returned.
2. An exception ends the node (live) or the run (simulated) with a sentence that names class, method
   and error. The trace goes to the logger `netkv.roles`, and live to the log of the node.
3. When a server restarts, a new object is created: the state of the old one is lost, the records in
   the store remain. Each server of a process has its own object; all clients of a process share
   one.
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
