"""The figures of an experiment's runs, and the file that keeps them.

Only quantities that the experiment's claims name are kept, so that the data of a document's tables
is small enough to be stored beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from netkv import kinds
from netkv.errors import NetkvError
from netkv.evaluation.reference import Experiment
from netkv.scenarios import thresholds
from netkv.scenarios.results import RunResult


class MeasuredRun(BaseModel):
    """One run: a scheme at a point of the sweep with a seed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scheme: str
    params: dict[str, Any]
    seed: int
    metrics: dict[str, float]
    """By name, as in `expect` lines; metrics that a run does not have are left out."""


class Measured(BaseModel):
    """The runs of one experiment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    experiment: str
    scenario: str
    changes: list[str]
    seeds: list[int]
    runs: list[MeasuredRun]

    def save(self, directory: Path) -> Path:
        """Writes `directory/EXPERIMENT.json`, a line for each run; returns the file."""
        head = self.model_dump(mode="json", exclude={"runs"})
        lines = ",\n".join(
            f"    {json.dumps(run.model_dump(mode='json'), sort_keys=True)}" for run in self.runs
        )
        parts = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
        text = "{\n" + ",\n".join(parts) + ',\n  "runs": [\n' + lines + "\n  ]\n}\n"
        file = directory / f"{self.experiment}.json"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise NetkvError(f"{file} cannot be written: {error.strerror or error}.") from error
        return file

    @classmethod
    def read(cls, directory: Path, experiment: str) -> Measured | None:
        """Reads the file of `save`; None if it is missing. Raises `NetkvError` if it is invalid."""
        file = directory / f"{experiment}.json"
        if not file.is_file():
            return None
        try:
            return cls.model_validate_json(file.read_text(encoding="utf-8"))
        except (OSError, ValidationError) as error:
            why = kinds.first(error) if isinstance(error, ValidationError) else error
            raise NetkvError(f"{file} holds no figures of an experiment: {why}.") from error


def measure(experiment: Experiment, runs: Iterable[RunResult]) -> Measured:
    """Keeps the metrics that the claims name, from finished runs of schemes that are `needed`.

    Raises `NetkvError` if a run failed or was cancelled: a mean over the others would hide it.
    """
    wanted = needed(experiment)
    kept = []
    for run in runs:
        if run.status != "done":
            end = "was cancelled." if run.status == "cancelled" else f"failed: {run.reason}"
            raise NetkvError(
                f"Experiment '{experiment.name}': the run of {run.scheme} with seed {run.seed} "
                f"{end}"
            )
        found = {name: _value(run, name) for name in wanted[run.scheme]}
        kept.append(
            MeasuredRun(
                scheme=run.scheme,
                params=run.params,
                seed=run.seed,
                metrics={
                    name: float(f"{value:.6g}")
                    for name, value in found.items()
                    if value is not None
                },
            )
        )
    return Measured(
        experiment=experiment.name,
        scenario=experiment.scenario,
        changes=experiment.changes,
        seeds=sorted({run.seed for run in kept}),
        runs=kept,
    )


def needed(experiment: Experiment) -> dict[str, list[str]]:
    """The metrics that the claims name, by scheme, with their names in `MeasuredRun.metrics`."""
    found: dict[str, set[str]] = {}
    for claim in experiment.claims:
        for text in claim.quantities:
            for scheme, metric in thresholds.compile_quantity(text).metrics():
                found.setdefault(scheme, set()).add(key(metric, claim.between))
    return {scheme: sorted(names) for scheme, names in found.items()}


def key(metric: str, between: tuple[float, float] | None) -> str:
    """Name of a metric in `MeasuredRun.metrics`: `hit_ratio`, `hit_ratio@10-11` with `between`."""
    return metric if between is None else f"{metric}@{between[0]:g}-{between[1]:g}"


def _value(run: RunResult, name: str) -> float | None:
    """A metric of the whole run, or the mean of its samples within some seconds."""
    metric, _, seconds = name.partition("@")
    if not seconds:
        return thresholds.metric_of(run, metric)
    start, end = map(float, seconds.split("-"))
    # A sample is taken at the end of its interval, some nanoseconds late.
    values = [
        float(value)
        for time, value in zip(run.series["time"], run.series.get(metric, ()), strict=False)
        if start < round(time, 3) <= end and value is not None
    ]
    return fmean(values) if values else None
