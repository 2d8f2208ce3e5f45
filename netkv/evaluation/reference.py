"""Figures of a paper as data: `netkv/data/papers/NAME.yaml`.

An evaluation is a list of experiments. Each names a scenario that ships, and the quantities that
the paper reports for it: `SCHEME.METRIC` expressions as in `expect` lines, with the paper's value
at each point of the sweep. Points without a value of the paper are shown as well. Its ledger lists
all that the paper states, shown or not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError

from netkv import kinds, resources, yaml_text
from netkv.errors import UsageError, suggest
from netkv.evaluation import words
from netkv.evaluation.constants import Constant
from netkv.evaluation.ledger import Entry
from netkv.scenarios import thresholds


def _reported(value: Any) -> Any:
    """A value of the paper; raises `ValueError` for another."""
    match value:
        case bool():
            pass
        case int() | float():
            return float(value)
        case [int() | float() as low, int() | float() as high]:
            return float(low), float(high)
        case str() if words.phrase(value) is not None or words.is_remark(value):
            return value
        case str():
            raise ValueError(f"the words '{value}' cannot be checked; known are {words.KNOWN}")
    raise ValueError(f"{value!r} should be a number, a range [low, high], or words")


def _by_point(value: Any) -> Any:
    if isinstance(value, dict):
        return {yaml_text.scalar(str(point)): _reported(each) for point, each in value.items()}
    return None if value is None else _reported(value)


Reported = float | tuple[float, float] | str
"""A number, a range, or the paper's words ("about equal", see `words`)."""
Kind = Literal["predicted", "calibrated", "fixed"]
"""What a figure of netkv is worth beside the paper's: nothing was fitted to it; constants were
calibrated on it; the set-up fixes it."""
Point = Annotated[Any, BeforeValidator(lambda key: yaml_text.scalar(str(key)))]
"""A value of a swept option, as a key of YAML: those are texts."""
MEAN = "mean"
"""The point that stands for the mean over all points of a sweep."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Base(_Model):
    """A quantity at one fixed point, by which a claim is divided."""

    quantity: str
    at: dict[str, Any] = Field(default_factory=dict)


class Claim(_Model):
    """One quantity, along a sweep or at one point."""

    name: str
    """Its name in tables: `SCHEME over BASELINE`."""
    quantity: str
    """An expression over one point's runs: `scheme.throughput_ops / baseline.throughput_ops`."""
    along: str | None = None
    """Path of the swept option that gives a row for each of its values; None: one row."""
    at: dict[str, Any] = Field(default_factory=dict)
    """Values of other swept options."""
    over: Base | None = None
    """Divides by a quantity at another point."""
    between: tuple[float, float] | None = None
    """Limits it to these seconds of the measured part; only for metrics with a time series."""
    mean: bool = False
    """Adds a row with the mean over the points of `along`."""
    digits: Annotated[int, Field(ge=0, le=6)] = 2
    """Digits after the decimal point."""
    paper: Annotated[Reported | dict[Any, Reported] | None, PlainValidator(_by_point)] = None
    """Figures in the paper's text, by value of `along` (and `mean`)."""
    artefact: float | dict[Point, float] | None = None
    """Mean over the rounds that the published artefact lists, by value of `along`."""
    kind: Kind | dict[Point, Kind] = "predicted"
    """What netkv's figures are worth, by value of `along` where they differ in that; those points
    that it does not name are predicted."""
    kind_as_published: Kind | dict[Point, Kind] | None = None
    """The same, of the figures as published, if that is another."""
    unlike: str | None = None
    """What the paper's figures measure, if that is another quantity of the same name: then there is
    no difference to them."""
    headline: bool = False
    """Whether abstract or conclusion of the paper state it."""
    cause: str | None = None
    """Why rows differ from the paper, in one sentence."""
    cause_shown_by: str | None = None
    """The experiment, or the command (`netkv ...`), that shows the cause."""

    @property
    def is_ratio(self) -> bool:
        """Whether it compares two schemes or points: then 1 means that they are equal."""
        if self.over is not None:
            return True
        found = list(thresholds.compile_quantity(self.quantity).metrics())
        return len({scheme for scheme, _ in found}) == 2 and len({name for _, name in found}) == 1

    def kind_at(self, point: Any, as_published: bool = False) -> Kind:
        """The kind of its figure at a point of `along`."""
        kind = self.kind
        if as_published and self.kind_as_published is not None:
            kind = self.kind_as_published
        return kind.get(point, "predicted") if isinstance(kind, dict) else kind

    @property
    def quantities(self) -> tuple[str, ...]:
        """All expressions that it names."""
        return (self.quantity,) if self.over is None else (self.quantity, self.over.quantity)

    def reported(self, point: Any) -> Reported | None:
        """The paper's value at a point of `along`."""
        return self.paper.get(point) if isinstance(self.paper, dict) else self.paper

    def listed(self, point: Any) -> float | None:
        """The artefact's value at a point of `along`."""
        return self.artefact.get(point) if isinstance(self.artefact, dict) else self.artefact


class Experiment(_Model):
    """One experiment of a paper and the scenario that repeats it."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    """Name of its data file and its table."""
    title: str
    source: str
    """Section, experiment and figure of the paper."""
    scenario: str
    changes: list[str] = Field(default_factory=list)
    """Changes of options, in the form of `--set`."""
    as_published: list[str] | None = None
    """Further changes with which it is run a second time, in the way the paper has measured (after
    the evaluation's `method`); None: only once."""
    method: bool = False
    """Whether the evaluation's `method` precedes its changes: a variant of one as published."""
    variant: bool = False
    """Whether it shows what a constant does to another experiment; its rows do not count."""
    control: bool = False
    """Whether it must miss the paper's figures, since what they need is taken away."""
    quick: list[str] | None = None
    """Further changes with which it is run by `--quick`; None: it is not."""
    claims: Annotated[list[Claim], Field(min_length=1)]


class Evaluation(_Model):
    """The evaluation of one paper."""

    paper: str
    method: list[str] = Field(default_factory=list)
    """Changes of options that model how the paper has measured, for `as_published`."""
    document: str
    """The document with its tables, as a path below `docs/`."""
    figures: Annotated[int, Field(ge=0)] | None = None
    """Number of the paper's last figure; files of the same paper share it."""
    tables: Annotated[int, Field(ge=0)] | None = None
    """Number of the paper's last table."""
    experiments: Annotated[list[Experiment], Field(min_length=1)]
    constants: list[Constant] = Field(default_factory=list)
    """What the numbers of its profiles and scenarios rest on."""
    ledger: list[Entry] = Field(default_factory=list)
    """Every figure, table and quantified statement of the paper, in its order."""

    def with_method(self, experiment: Experiment) -> Experiment:
        """The experiment with all of its changes."""
        if not experiment.method:
            return experiment
        changes = [*self.method, *experiment.changes]
        return experiment.model_copy(update={"changes": changes, "method": False})

    def variants(self, experiment: Experiment) -> list[Experiment]:
        """The experiment, and as published if it is run so too, under a name of its own."""
        if experiment.as_published is None:
            return [experiment]
        changes = [*experiment.changes, *self.method, *experiment.as_published]
        name = f"{experiment.name}-as-published"
        update = {"name": name, "changes": changes, "as_published": None}
        return [experiment, experiment.model_copy(update=update)]

    def experiment(self, name: str) -> Experiment:
        """The experiment with this name; raises `UsageError` with the known names."""
        for each in self.experiments:
            if each.name == name:
                return each
        known = [each.name for each in self.experiments]
        raise UsageError(
            f"There is no experiment '{name}'.\n  {suggest(name, known, label='Experiments')}"
        )


def names() -> list[str]:
    """Evaluations that ship."""
    return sorted(file.stem for file in resources.path("papers").glob("*.yaml"))


def load(name: str) -> Evaluation:
    """An evaluation that ships by name, or one of the user's by the path of its YAML file.

    Raises `UsageError` if either is wrong.
    """
    as_path = Path(name)
    if as_path.suffix not in (".yaml", ".yml"):
        if name not in names():
            raise UsageError(
                f"There is no evaluation '{name}'.\n"
                f"  {suggest(name, names(), label='Evaluations')} A path to a .yaml file works too."
            )
        as_path = resources.path("papers") / f"{name}.yaml"
    try:
        data = yaml_text.read(yaml_text.read_file(as_path)).data
        found = Evaluation.model_validate(data)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{as_path}: cannot be read: {error}.") from error
    except yaml_text.YamlTextError as error:
        line = "" if error.line is None else f":{error.line}"
        raise UsageError(f"{as_path}{line}: {error}") from error
    except ValidationError as error:
        raise UsageError(f"{as_path}: {_wrong(error)}") from error
    _check(found, as_path)
    return found.model_copy(update={"experiments": list(map(found.with_method, found.experiments))})


def _check(evaluation: Evaluation, file: Path) -> None:
    """Raises `UsageError` for an invalid quantity or entry, before anything runs."""
    for experiment in evaluation.experiments:
        for claim in experiment.claims:
            for text in claim.quantities:
                try:
                    thresholds.compile_quantity(text)
                except UsageError as error:
                    raise UsageError(f"{file}: experiment '{experiment.name}': {error}") from error
            shown = claim.cause_shown_by
            if shown is not None and not shown.startswith("netkv "):
                _check_name(evaluation, shown, f"{file}: experiment '{experiment.name}', cause")
    for entry in evaluation.ledger:
        for name in entry.shown_by or []:
            _check_name(evaluation, name, f"{file}: ledger, '{entry.source}'")


def _check_name(evaluation: Evaluation, name: str, where: str) -> None:
    """Raises `UsageError` if the evaluation has no experiment of this name."""
    try:
        evaluation.experiment(name)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def _wrong(error: ValidationError) -> str:
    lines = [
        f"'{'.'.join(map(str, each['loc']))}': {kinds.described(each)}"
        for each in error.errors(include_url=False)
    ]
    return "; ".join(lines) + "."
