"""Reports recorded runs to the store, one sample each 50 ms. The scenario `hot-in` fails at once.

python -m tests.api.slow_runner GROUP SCENARIO REPEATS [SCHEME ...]
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path

from netkv.runs import Store, StoreSink
from netkv.scenarios.results import ScenarioResult
from tests.runs.recorded_runs import result, samples, start
from tests.waiting import until

HOLD = Path(os.environ["NETKV_HOME"]) / "hold"
"""While this file exists, only as many samples of a run are reported as its text says; without a
text, none."""


def _may_report(number: int) -> bool:
    try:
        return number < int(HOLD.read_text() or 0)
    except FileNotFoundError:
        return True


def main() -> None:
    group, scenario, length, *schemes = sys.argv[1:]
    if scenario == "hot-in":
        sys.exit("error: the rack did not come up: port 9559 is in use.")
    results = []
    with Store() as store, StoreSink(store, group=group) as sink:
        for scheme in schemes or ["nocache", "netcache"]:
            run = start(
                f"{group}-{scheme}",
                scheme,
                started_at=time.time(),
                duration=20.0 * int(length),
            )
            sink.begin(run)
            measured = []
            for number, sample in enumerate(samples(run)):
                time.sleep(0.05)
                until(partial(_may_report, number), "the test has deleted the file 'hold'")
                sink.sample(run.id, sample)
                if sample.phase == "measure":
                    measured.append(sample)
            found = result(run, measured)
            sink.finish(found)
            results.append(found)
    whole = ScenarioResult(
        scenario=scenario,
        title="Recorded runs",
        mode="live",
        target="engine",
        seed=1,
        runs=results,
        summary=[],
        thresholds=[],
    )
    print(whole.model_dump_json())


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
