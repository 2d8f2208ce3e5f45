"""`netkv calibrate`: measures this machine for the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netkv.cli.output import Json, notify, print_json, stdout


def calibrate(
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the profile there, not as that of this machine."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure this machine through the nodes of a live rack: the simulator's profile this-machine.

    It takes about half a minute. Scenarios take it by 'lab.profile: this-machine', which they do
    by default, or by the name of the FILE.
    """
    from netkv.bench.result import this_machine
    from netkv.calibration import calibrate as calibration
    from netkv.cli.progress import steps
    from netkv.report import calibration as report
    from netkv.sim import profiles

    if out is not None:
        profiles.check_destination(out)
    with steps() as progress:
        figures = calibration.measure(progress)
    profile = calibration.profile_of(figures)
    written = profiles.save(profile, out)
    if json:
        print_json(
            {
                "machine": this_machine().model_dump(mode="json"),
                "file": str(written),
                "measured": figures.model_dump(mode="json"),
                "profile": profile.model_dump(mode="json"),
            }
        )
    else:
        stdout().print(report.table(figures, profile))
    notify(f"The profile is in {written}.")
