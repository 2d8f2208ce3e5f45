"""The run store: every run whole, readable while it is written and after a crash."""

from netkv.runs.records import RunHead, RunRecord
from netkv.runs.sink import StoreSink
from netkv.runs.store import Store, default_url

__all__ = ["RunHead", "RunRecord", "Store", "StoreSink", "default_url"]
