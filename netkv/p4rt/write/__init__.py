"""Write: updates of every kind of entity (section 12).

`apply` does one update on a pipeline and raises `RpcError`. Nothing is changed by an update that
raises. In a switch of several pipelines an update is done in one after the other (replicas.py);
counters, whose sums are read, in all at once. `all_or_none` does a batch as a whole.
"""

from __future__ import annotations

from netkv.p4rt.write.batch import all_or_none
from netkv.p4rt.write.update import apply

__all__ = ["all_or_none", "apply"]
