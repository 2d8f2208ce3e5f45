"""Write: updates of every kind of entity (section 12).

`apply` applies one update and raises `RpcError`; an update that raises changes nothing. In a switch
with several pipelines an update is applied to one after the other (replicas.py); counters are
written in all at once, because reads return their sums. `all_or_none` applies a batch as a whole.
The engine carries the common case of large batches out itself (`plain`).
"""

from __future__ import annotations

from netkv.p4rt.write.batch import all_or_none
from netkv.p4rt.write.plain import PlainWriter, Request
from netkv.p4rt.write.update import apply

__all__ = ["PlainWriter", "Request", "all_or_none", "apply"]
