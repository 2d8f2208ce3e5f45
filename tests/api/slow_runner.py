"""Reports recorded runs to the store, a second of them each 50 ms; or fails at once when asked to.

python -m tests.api.slow_runner GROUP SCENARIO REPEATS [SCHEME ...]
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from netkv.runs import Store, StoreSink
from tests.runs.recorded_runs import result, samples, start
from tests.waiting import until

HOLD = Path(os.environ["NETKV_HOME"]) / "hold"
"""While a test keeps this file, no sample comes."""


def main() -> None:
    group, scenario, length, *schemes = sys.argv[1:]
    if scenario == "hot-in":
        sys.exit("error: the rack did not come up: port 9559 is in use.")
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
            for sample in samples(run):
                time.sleep(0.05)
                until(lambda: not HOLD.exists(), "the test lets it go on")
                sink.sample(run.id, sample)
                if sample.phase == "measure":
                    measured.append(sample)
            sink.finish(result(run, measured))


if __name__ == "__main__":
    # As netkv does: whoever started the tests may have had interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
