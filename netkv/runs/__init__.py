"""The run store: complete records of all runs, readable during a run and after a crash."""

from netkv.runs.records import RunHead, RunRecord
from netkv.runs.sink import StoreSink
from netkv.runs.store import Store, default_url

__all__ = ["RunHead", "RunRecord", "Store", "StoreSink", "default_url"]
