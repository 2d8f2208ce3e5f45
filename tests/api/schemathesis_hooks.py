"""What schemathesis runs in its own process: see `test_schemathesis.py`."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import schemathesis

_RUNS = cycle(["first-nocache-0", "first-netcache-0", "second-nocache-0", "single-0"])


@schemathesis.hook
def before_call(_context: schemathesis.HookContext, case: schemathesis.Case[Any], _: Any) -> None:
    """Names stored runs in every second valid query of several runs: a dictionary of the
    configuration has values of whole parameters only, and these are lists."""
    runs = case.query.get("run") if case.query else None
    if runs and isinstance(runs, list) and case.meta and case.meta.generation.mode.is_positive:
        case.query["run"] = [next(_RUNS)] if len(runs) == 1 else [next(_RUNS), next(_RUNS)]
