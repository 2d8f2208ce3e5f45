"""The run store: complete records of all runs, readable during a run and after a crash."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netkv.runs.default_store import default_url
    from netkv.runs.records import RunHead, RunRecord
    from netkv.runs.sink import StoreSink
    from netkv.runs.store import Store

__all__ = ["RunHead", "RunRecord", "Store", "StoreSink", "default_url"]

_MODULES = {
    "RunHead": "records",
    "RunRecord": "records",
    "Store": "store",
    "StoreSink": "sink",
    "default_url": "default_store",
}


def __getattr__(name: str) -> Any:
    # The store needs SQLAlchemy, which takes longer to import than a command that only lists
    # something may take. So its modules are imported when they are used.
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
