"""The best point of an expression, by a model of its values so far (Optuna's TPE sampler)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from netkv.errors import NetkvError
from netkv.studies.axes import Axis, Choice
from netkv.studies.samplers import Params


class Best:
    """A search. Call `following`, then `told` with a value for each of its points."""

    def __init__(self, axes: Sequence[Axis], *, maximise: bool, seed: int) -> None:
        """Raises `NetkvError` without Optuna."""
        try:
            import optuna
        except ModuleNotFoundError as error:
            raise NetkvError(
                "The sampler 'tpe' needs Optuna, which is not installed. Install netkv[search]."
            ) from error
        optuna.logging.set_verbosity(logging.ERROR)
        self._axes = axes
        # Points of a round are unlike each other.
        sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
        self._study = optuna.create_study(
            direction="maximize" if maximise else "minimize", sampler=sampler
        )
        self._asked: list[Any] = []
        self._failed = optuna.trial.TrialState.FAIL

    def following(self, count: int) -> list[Params]:
        """The next points to try."""
        self._asked = [self._study.ask() for _ in range(count)]
        return [
            {each.path: _suggested(trial, each) for each in self._axes} for trial in self._asked
        ]

    def told(self, values: Sequence[float | None]) -> None:
        """Takes the value of each point that `following` has given; None: it has none."""
        for trial, value in zip(self._asked, values, strict=True):
            if value is None:
                self._study.tell(trial, state=self._failed)
            else:
                self._study.tell(trial, value)


def _suggested(trial: Any, axis: Axis) -> Any:
    if isinstance(axis, Choice):
        return axis.values[trial.suggest_int(axis.path, 0, len(axis.values) - 1)]
    if axis.integer:
        return trial.suggest_int(axis.path, int(axis.low), int(axis.high), log=axis.log)
    return float(f"{trial.suggest_float(axis.path, axis.low, axis.high, log=axis.log):.6g}")
