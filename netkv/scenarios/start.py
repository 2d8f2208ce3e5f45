"""What a run is before it is executed: its id and its description."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from typing import Any

from netkv import schemes
from netkv.errors import NetkvError
from netkv.scenarios.provenance import provenance
from netkv.scenarios.results import Provenance, RunStart
from netkv.scenarios.run_plan import PlannedRun
from netkv.sim import profiles

_NOT_OF_A_RUN = {"title", "description", "schemes", "seed", "repeat", "sweep", "expect", "plots"}
"""Fields of a scenario that do not concern one of its runs alone. (`PlannedRun` has its seed.)"""


def describe(planned: PlannedRun, program_hash: str) -> RunStart:
    """A run that starts now, of a program with this hash."""
    scenario = planned.scenario
    scheme = schemes.get(planned.scheme)
    origin = provenance(scheme.program_path.name, program_hash)
    return RunStart(
        id=_live_id(scheme.name) if scenario.mode == "live" else _sim_id(planned, origin),
        scenario=scenario.name,
        title=scenario.title or scenario.name,
        scheme=scheme.name,
        params=planned.params,
        repeat=planned.repeat,
        seed=planned.seed,
        mode=scenario.mode,
        target=scenario.lab.target,
        started_at=time.time(),
        duration=scenario.duration,
        warmup=scenario.warmup,
        parameters=scenario.model_dump(mode="json"),
        provenance=origin,
    )


def same_result(planned: PlannedRun) -> str:
    """A text that two simulated runs of the same netkv have in common if their results are the
    same."""
    return json.dumps(_determined_by(planned), sort_keys=True)


class Hashes:
    """The hashes of the programs of planned runs; each program is compiled once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], str | None] = {}

    def of(self, planned: PlannedRun) -> str | None:
        """The hash of the programs of a run; None if they do not compile, as the run will say."""
        scheme = schemes.get(planned.scheme)
        lab = planned.scenario.rack(planned.scheme, planned.seed).lab
        key = scheme.name, json.dumps(dict(scheme.programs.defines(lab)), sort_keys=True)
        if key not in self._found:
            try:
                self._found[key] = scheme.compile_all(lab).source_hash
            except NetkvError:
                self._found[key] = None
        return self._found[key]


def _live_id(scheme: str) -> str:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime())
    return f"{stamp}-{scheme}-{secrets.token_hex(3)}"


def _determined_by(planned: PlannedRun) -> dict[str, Any]:
    return {
        "scenario": planned.scenario.model_dump(mode="json", exclude=_NOT_OF_A_RUN),
        "scheme": planned.scheme,
        "params": planned.params,
        "seed": planned.seed,
    }


def _sim_id(planned: PlannedRun, origin: Provenance) -> str:
    """The id of a simulated run: a hash of everything that determines its result, and of its place
    in a sweep. It does not depend on the other runs of its scenario, nor on how it is shown."""
    document = {
        **_determined_by(planned),
        # The figures, since 'this-machine' and files change with each calibration.
        "profile": profiles.of(planned.scenario.lab).model_dump(mode="json"),
        "program": origin.program_hash,
        "source": [origin.netkv_version, origin.source_revision],
    }
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    return f"sim-{planned.scenario.name}-{planned.scheme}-{digest[:10]}"
